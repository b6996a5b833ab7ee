import type { AgentInterface } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { FoundCard } from "../../../client/discovery/discovery.js";
import type { Candidate } from "../../../client/discovery/interfaces.js";
import { clientError, neverArrived } from "../../../client/errors/errors.js";
import { olderVersions } from "../../../version/client-versions.js";
import { interfacesOf, openInterface, readCard } from "../agent.js";
import { cardViolations } from "../card-validate.js";
import type { Context, Run } from "../context.js";
import { usage } from "../errors.js";
import type { Scope } from "../scope.js";
import { field } from "../text.js";
import { type Check, checks, type Finding, type Probe } from "./checks.js";

/** A line of the report. */
interface Line {
  /** Empty for the card. */
  readonly binding: string;
  readonly url: string;
  readonly check: string;
  readonly section: string;
  readonly requirement: string;
  readonly result: "pass" | "fail" | "skipped";
  readonly detail: string | null;
}

/** `conformance`: checks the card of an agent, and each interface by calls. */
export const run: Run = async (context, [ref]) => {
  if (ref !== undefined && context.isFlag("agentCard"))
    throw usage("the agent is named twice: as argument and by --agent-card");
  if (context.settings.endpoint !== undefined) throw usage("conformance needs a card: name it by --agent-card");
  const { found, platform } = await readCard(context, ref);
  await platform.close();
  context.startBudget();
  const lines: Line[] = [];
  const add = (line: Line): void => {
    lines.push(line);
    if (!context.out.mode.isJson) context.out.text(textOf(line));
  };
  add(checkedCard(found));
  const usable = interfacesOf(context, found);
  for (const declared of found.card.supportedInterfaces) {
    const chosen = usable.find((each) => each.declared === declared);
    if (chosen === undefined) add(unusable(declared, context.settings.a2aVersion));
    else for await (const line of checkedInterface(context, found, chosen)) add(line);
  }
  report(context, found, lines);
};

function report(context: Context, found: FoundCard, lines: readonly Line[]): void {
  const count = (result: Line["result"]): number => lines.filter((line) => line.result === result).length;
  const summary = { pass: count("pass"), fail: count("fail"), skipped: count("skipped") };
  const { out } = context;
  if (out.mode.isJson)
    out.json({ agent: found.card.name, card: found.url ?? null, isTck: false, summary, checks: lines });
  else out.text(field("Result", `${summary.pass} passed, ${summary.fail} failed, ${summary.skipped} skipped`));
  if (summary.fail > 0) context.noteFaults();
}

function textOf({ binding, check, section, requirement, result, detail }: Line): string {
  const where = binding === "" ? "card" : binding;
  return field(
    result.toUpperCase(),
    `${where} ${check} (${section}): ${requirement}${detail === null ? "" : `: ${detail}`}`,
  );
}

function checkedCard(found: FoundCard): Line {
  const violations = cardViolations(JSON.parse(found.text ?? "{}"));
  const detail = violations.map(({ path, description }) => `${path} ${description}`).join("; ");
  return {
    binding: "",
    url: found.url ?? "",
    check: "card",
    section: "4.4.1",
    requirement: "the card is valid",
    result: violations.length === 0 ? "pass" : "fail",
    detail: violations.length === 0 ? null : detail,
  };
}

const lineOf = (
  { binding, url }: { readonly binding: string; readonly url: string },
  { name, section, requirement }: Pick<Check, "name" | "section" | "requirement">,
  finding: Finding,
): Line => ({
  binding,
  url,
  check: name,
  section,
  requirement,
  result: finding === undefined ? "pass" : "fault" in finding ? "fail" : "skipped",
  detail: finding === undefined ? null : "fault" in finding ? finding.fault : finding.skipped,
});

const reachable = { name: "reachable", section: "5.2", requirement: "a declared interface answers" };

/** Returns the line of an interface that is not called. */
function unusable({ protocolBinding: binding, url, protocolVersion }: AgentInterface, asked: string | undefined): Line {
  const isOlder = olderVersions.some(({ name }) => name === protocolVersion);
  const reason =
    asked !== undefined || isOlder ? `is called with --a2a-version ${protocolVersion} only` : "is not spoken here";
  return lineOf({ binding, url }, reachable, { skipped: `A2A ${protocolVersion} over ${binding} ${reason}` });
}

/** Runs all checks of an interface. One that does not answer has no further checks. */
async function* checkedInterface(context: Context, found: FoundCard, chosen: Candidate): AsyncGenerator<Line> {
  if (chosen.older !== undefined && context.settings.a2aVersion === undefined) {
    yield unusable(chosen.declared, undefined);
    return;
  }
  const { client } = await openInterface(probing(context), found, chosen);
  try {
    const probe: Probe = {
      client,
      card: found.card,
      text: context.own("message").at(-1) ?? "hello",
      signal: context.signal,
    };
    for (const [at, check] of checks.entries()) {
      if (check.isNew === true && chosen.older !== undefined) {
        yield lineOf(chosen, check, { skipped: `not in A2A ${chosen.version}` });
        continue;
      }
      const [finding, isThere] = await outcomeOf(context, check, probe);
      if (at === 0) yield lineOf(chosen, reachable, isThere ? undefined : finding);
      if (!isThere && at === 0) return;
      yield lineOf(chosen, check, finding);
    }
  } finally {
    await client.close();
  }
}

/** An interface that is not reached is a finding, and does not end the run. */
function probing(context: Context): Scope {
  const { io, out, settings, resolved, given, signal } = context;
  return {
    ...{ io, out, settings, resolved, given, signal, task: undefined },
    get usesLogin() {
      return context.usesLogin;
    },
    noteLogin: () => context.noteLogin(),
    onClose: (close) => context.onClose(close),
    noteCut: () => {},
    end: () => {},
  };
}

/** Runs a check. @throws errors of authentication, which concern the run, and its end */
async function outcomeOf(context: Context, check: Check, probe: Probe): Promise<readonly [Finding, isThere: boolean]> {
  try {
    return [await check.run(probe), true];
  } catch (thrown) {
    const error = clientError(thrown);
    const isOfRun =
      context.signal.aborted || error.reason === "UNAUTHENTICATED" || error.reason === "PERMISSION_DENIED";
    if (isOfRun) throw thrown;
    return [{ fault: `${error.reason}: ${error.message}` }, !neverArrived(error)];
  }
}
