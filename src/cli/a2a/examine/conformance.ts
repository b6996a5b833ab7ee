import type { AgentInterface } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { FoundCard } from "../../../client/discovery/discovery.js";
import { checkedCard } from "../../../examine/card-validate.js";
import type { Line } from "../../../examine/check.js";
import { uncalled } from "../../../examine/check-lines.js";
import { olderVersions } from "../../../version/client-versions.js";
import { interfacesOf } from "../agent.js";
import type { Context, Run } from "../context.js";
import { field } from "../text.js";
import { cardFound, examined, redacted } from "./interface.js";

/** `conformance`: checks an agent's card and interfaces against the requirements of the specification. */
export const run: Run = async (context, [ref]) => {
  context.startBudget();
  const { found, platform } = await cardFound(context, "conformance", ref);
  await platform.close();
  const lines: Line[] = [];
  const add = (given: Line): void => {
    const line = redacted(given, context.out);
    lines.push(line);
    if (!context.out.mode.isJson) context.out.text(formatCheck(line));
  };
  add(checkedCard(found));
  const usable = interfacesOf(context, found);
  const { a2aVersion } = context.settings;
  for (const declared of found.card.supportedInterfaces) {
    const chosen = usable.find((each) => each.declared === declared);
    const place = { binding: declared.protocolBinding, version: declared.protocolVersion, url: declared.url };
    if (chosen === undefined || (chosen.older !== undefined && a2aVersion === undefined)) {
      add(uncalled(place, { skipped: reasonOf(declared, a2aVersion) }));
      continue;
    }
    for await (const line of examined(context, found, chosen, { isStrict: true })) add(line);
  }
  report(context, found, lines);
};

function reasonOf({ protocolBinding, protocolVersion }: AgentInterface, asked: string | undefined): string {
  const isOlder = olderVersions.some(({ name }) => name === protocolVersion);
  const reason =
    asked !== undefined || isOlder ? `is called with --a2a-version ${protocolVersion} only` : "is not supported";
  return `A2A ${protocolVersion} over ${protocolBinding} ${reason}`;
}

function report(context: Context, found: FoundCard, lines: readonly Line[]): void {
  const count = (result: Line["result"]): number => lines.filter((line) => line.result === result).length;
  const summary = { pass: count("pass"), fail: count("fail"), skipped: count("skipped") };
  const checks = lines.map(({ mend: _, isAdvice: __, ...line }) => line);
  const { out } = context;
  out.result(
    { agent: found.card.name, card: found.url ?? null, isTck: false, summary, checks },
    field("Result", `${summary.pass} passed, ${summary.fail} failed, ${summary.skipped} skipped`),
  );
  if (summary.fail > 0) context.noteFaults();
}

function formatCheck({ binding, check, section, requirement, result, detail }: Line): string {
  const where = binding === "" ? "card" : binding;
  return field(
    result.toUpperCase(),
    `${where} ${check} (${section}): ${requirement}${detail === null ? "" : `: ${detail}`}`,
  );
}
