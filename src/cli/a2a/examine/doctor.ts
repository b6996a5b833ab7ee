import { isDeepStrictEqual } from "node:util";
import { clone, toBinary } from "@bufbuild/protobuf";
import { type AgentInterface, type Task, TaskSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { FoundCard } from "../../../client/discovery/discovery.js";
import { clientError } from "../../../client/errors/errors.js";
import { messageIn } from "../../../core/members.js";
import { withoutSecrets } from "../../../core/net.js";
import { checkedCard, subjectOfCard } from "../../../examine/card-validate.js";
import { type Finding, type Line, lineOf, type Probe } from "../../../examine/check.js";
import { uncalled } from "../../../examine/check-lines.js";
import { type CardProbe, cardChecks } from "../../../examine/served-card.js";
import { signatureCheck } from "../../../examine/signatures.js";
import { Wire } from "../../../examine/wire.js";
import type { Context, Run } from "../context.js";
import { jsonOf } from "../output.js";
import { field } from "../text.js";
import { tlsOf } from "../tls.js";
import { judged, secureOrigins, shakeHands, trustRule } from "./certificates.js";
import { candidateOf, cardFound, examined, redacted, whyUncalled } from "./interface.js";

/** `doctor`: examines an agent and reports faults with their remedies. */
export const run: Run = async (context, [ref]) => {
  const wire = new Wire([]);
  context.startBudget();
  const { found, platform } = await cardFound(context, "doctor", ref, wire.tap);
  context.onClose(() => platform.close());
  const report = new Report(context);
  const probe = { found, exchange: wire.last, http: platform.http, signal: context.signal };
  report.add(checkedCard(found));
  for await (const line of examinedCard(context, probe)) report.add(line);
  const shown: Shown[] = [];
  for (const declared of found.card.supportedInterfaces) {
    for await (const line of examinedInterface(context, found, declared, shown)) report.add(line);
  }
  report.end(found);
};

async function* examinedCard(context: Context, probe: CardProbe): AsyncGenerator<Line> {
  const subject = subjectOfCard(probe.found);
  for (const check of [...cardChecks, signatureCheck]) yield lineOf(subject, check, await check.run(probe));
  const { card, url = "" } = probe.found;
  const urls = card.supportedInterfaces.map((each) => candidateOf(context, probe.found, each)?.url ?? each.url);
  for (const origin of secureOrigins([url, ...urls])) {
    const at = { ...subject, url: origin };
    try {
      const handshake = await shakeHands(origin, tlsOf(context), context.signal);
      for (const [rule, finding] of judged(handshake, Date.now())) yield lineOf(at, rule, finding);
    } catch (error) {
      context.signal.throwIfAborted();
      yield lineOf(at, trustRule, { fault: `${origin} does not speak TLS: ${messageIn(error)}` });
    }
  }
}

/** Examines an interface in its own version and compares its tasks with those of earlier interfaces. */
async function* examinedInterface(
  context: Context,
  found: FoundCard,
  declared: AgentInterface,
  shown: Shown[],
): AsyncGenerator<Line> {
  const chosen = candidateOf(context, found, declared);
  if (chosen === undefined) {
    const { protocolBinding: binding, protocolVersion: version, url } = declared;
    yield uncalled({ binding, version, url: withoutSecrets(url) }, whyUncalled(context, declared));
    return;
  }
  yield* examined(context, found, chosen, {
    isStrict: false,
    after: async function* (probe, subject) {
      if (chosen.older !== undefined) return;
      for (const other of shown) yield lineOf(subject, alikeRule, await compared(other, probe));
      const own = await shownBy(probe);
      if (own !== undefined && declared.tenant === "") shown.push(own);
    },
  });
}

/** Prints findings as they are made, and counts them. */
class Report {
  readonly #lines: Line[] = [];
  readonly #context: Context;
  /** The heading of the lines that come. */
  #heading = "";
  #isHeaded = true;

  constructor(context: Context) {
    this.#context = context;
  }

  add(given: Line): void {
    this.#context.touch();
    const { out } = this.#context;
    const line = redacted(given, out);
    this.#lines.push(line);
    if (out.mode.isJson) return;
    this.#begin(line);
    const isUncalled = line.check === "reachable" && line.result === "skipped";
    if (line.result !== "fail" && !isUncalled && !out.mode.isVerbose) return;
    if (!this.#isHeaded) out.text(this.#heading);
    this.#isHeaded = true;
    out.text(formatFinding(line));
  }

  /** Begins the lines of a subject. The subject before may have had no lines. */
  #begin({ binding, version, url }: Line): void {
    const heading = field(binding === "" ? "Card" : `${binding} ${version}`, url);
    if (heading === this.#heading) return;
    this.#close();
    this.#heading = heading;
    this.#isHeaded = false;
  }

  #close(): void {
    if (!this.#isHeaded) this.#context.out.text(this.#heading.replace(/\n$/, ", sound\n"));
  }

  end(found: FoundCard): void {
    const lines = this.#lines;
    const failed = lines.filter(({ result }) => result === "fail");
    const advice = failed.filter(({ isAdvice }) => isAdvice).length;
    const summary = {
      sound: lines.filter(({ result }) => result === "pass").length,
      faults: failed.length - advice,
      advice,
      skipped: lines.filter(({ result }) => result === "skipped").length,
    };
    const { out } = this.#context;
    if (out.mode.isJson) out.json({ agent: found.card.name, card: found.url ?? null, summary, checks: lines });
    else {
      this.#close();
      const { sound, faults, skipped } = summary;
      const wrong = `${faults} ${faults === 1 ? "fault" : "faults"}, ${advice} to improve`;
      out.text(field("Result", `${wrong}, ${sound} sound, ${skipped} not checked`));
    }
    if (summary.faults > 0) this.#context.noteFaults();
  }
}

function formatFinding(line: Line): string {
  const { check, section, requirement, result, detail, mend, isAdvice } = line;
  const label = result === "fail" ? (isAdvice ? "Improve" : "Fault") : result === "pass" ? "Sound" : "Not checked";
  const but = detail === null ? "" : `${result === "fail" ? ", but" : ":"} ${detail}`;
  const text = field(label, `${check} (${section}): ${requirement}${but}`);
  return result === "fail" ? text + field("  Mend", mend) : text;
}

const alikeRule = {
  name: "alike",
  section: "5.1",
  requirement: "all interfaces show the same task",
  mend: "let all interfaces share one store, and answer from the same code",
};

/** Maximum size of a compared task, in bytes: one task of each interface is kept. */
const MAX_BYTES = 1024 * 1024;

/** A task as the interface that began it shows it. */
interface Shown {
  readonly id: string;
  readonly binding: string;
  readonly json: unknown;
}

/** Reads the task of a probe as its interface shows it, if it does and the task is not too large. */
async function shownBy({ client, task, binding, signal }: Probe): Promise<Shown | undefined> {
  if (task === undefined) return undefined;
  try {
    const shown = await client.getTask({ id: task.id }, { signal });
    if (toBinary(TaskSchema, shown).length > MAX_BYTES) return undefined;
    return { id: task.id, binding, json: comparable(shown) };
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Compares the task of another interface with the same task of this one. */
async function compared({ id, binding, json }: Shown, { client, signal }: Probe): Promise<Finding> {
  try {
    const other = comparable(await client.getTask({ id }, { signal }));
    if (isDeepStrictEqual(other, json)) return undefined;
    const names = Object.keys({ ...(json as object), ...(other as object) });
    const differing = names.filter((name) => !isDeepStrictEqual((json as Members)[name], (other as Members)[name]));
    return { fault: `the task that was begun over ${binding} has another ${differing.join(", ")} here` };
  } catch (thrown) {
    signal.throwIfAborted();
    return { fault: `the task that was begun over ${binding} is not found here: ${clientError(thrown).reason}` };
  }
}

type Members = Readonly<Record<string, unknown>>;

/** JSON has milliseconds at most, protobuf more. */
function comparable(task: Task): unknown {
  const copy = clone(TaskSchema, task);
  const time = copy.status?.timestamp;
  if (time !== undefined) time.nanos -= time.nanos % 1_000_000;
  return jsonOf(TaskSchema, copy);
}
