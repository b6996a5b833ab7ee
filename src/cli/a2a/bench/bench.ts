import { create } from "@bufbuild/protobuf";
import { MessageSchema, Role, SendMessageRequestSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { webUrl } from "../../../client/hosts.js";
import { newId } from "../../../core/ids.js";
import { isLoopback, withoutSecrets } from "../../../core/net.js";
import { given } from "../../../core/options.js";
import { PROTOCOL_VERSION } from "../../../version/v1.js";
import { type Agent, connectAgent } from "../agent.js";
import type { Context, Run } from "../context.js";
import { Failure, usage } from "../errors.js";
import { measure } from "./measure.js";
import { type BenchOptions, benchOptions } from "./options.js";
import { outcomesOf } from "./outcome.js";
import { Recorder } from "./replay.js";
import { earlierReport, type Report, reportText } from "./report.js";

const DEFAULT_TEXT = "Hello";

/** `bench`: loads an agent, and prints rates and latencies. */
export const run: Run = async (context, [text = DEFAULT_TEXT]) => {
  const options = benchOptions(context);
  const { compare } = options;
  const earlier = compare === undefined ? undefined : await earlierReport(context, compare);
  const recorder = new Recorder();
  const agent = await connectAgent(context, recorder.tap);
  context.onClose(() => agent.client.close());
  checkTarget(context, agent, options);
  const id = await firstCall(context, agent, { options, text });
  const read = outcomesOf(agent.chosen.binding, options.operation);
  const replay = recorder.replay(id);
  const measured = await measure(context, options, { replay, read, close: () => agent.client.close() });
  const { binding, url } = agent.chosen;
  const report: Report = {
    agent: agent.card?.name ?? null,
    url: withoutSecrets(url),
    binding,
    operation: options.operation,
    callers: options.callers,
    rate: options.rate ?? null,
    ...measured.report,
  };
  const failure = measured.wasInterrupted ? context.signal.reason : report.calls === 0 ? noSuccess(report) : undefined;
  // With JSON an error is printed in place of the result.
  if (context.out.mode.isJson && failure === undefined) context.out.json(report);
  if (!context.out.mode.isJson) context.out.text(reportText(report, earlier));
  if (failure !== undefined) throw failure;
  warnOfReport(context, report);
};

/** @throws Failure if the target cannot be measured, or may not be without `--yes` */
function checkTarget({ out }: Context, { chosen, canStream }: Agent, { operation, yes }: BenchOptions): void {
  if (chosen.older !== undefined) {
    throw usage(`bench measures A2A ${PROTOCOL_VERSION}, not ${chosen.version}`, "choose an interface by --transport");
  }
  if (operation === "stream" && !canStream) {
    throw usage("--operation: the agent does not declare streaming", "measure send or get");
  }
  const url = webUrl(chosen.url);
  if (isLoopback(url)) return;
  const { host } = new URL(url);
  if (!yes) throw usage(`${host} is another machine, and bench loads it`, "with its owner's consent, add --yes");
  out.warn(`${host} is another machine; every call loads it`);
}

/**
 * Makes one call through the client, whose request is then repeated.
 *
 * @returns the id of its message
 */
async function firstCall(
  context: Context,
  { client }: Agent,
  { options: { operation }, text }: { readonly options: BenchOptions; readonly text: string },
): Promise<string> {
  const { signal, settings } = context;
  const { contextId = "", metadata } = settings;
  const messageId = newId();
  const message = create(MessageSchema, {
    messageId,
    contextId,
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } }],
  });
  const request = create(SendMessageRequestSchema, { message, ...given({ metadata }) });
  context.startBudget();
  if (operation === "stream") {
    for await (const _ of client.sendStreamingMessage(request, { signal })) context.touch();
  } else if (settings.taskId !== undefined) await client.getTask({ id: settings.taskId }, { signal });
  else {
    const { payload } = await client.sendMessage(request, { signal });
    if (operation === "get") {
      if (payload.case !== "task") {
        throw new Failure("A2ACLI_ERR_INTERNAL", "The agent answered with a message instead of a task.", {
          hint: "name a task by --task-id",
        });
      }
      await client.getTask({ id: payload.value.id }, { signal });
    }
  }
  context.endBudget();
  return messageId;
}

function noSuccess({ errors, unfinished }: Report): Failure {
  const kinds = Object.keys(errors).join(", ");
  return new Failure("PARLEY_ERR_NO_SUCCESS", `No call succeeded${kinds === "" ? "" : `: ${kinds}`}.`, {
    hint: unfinished > 0 ? "calls were still open at the end: raise --duration" : "see one of them with send --debug",
  });
}

function warnOfReport({ out }: Context, { failed, unfinished, late, generator }: Report): void {
  if (failed > 0) out.warn(`${failed} calls failed; they count in no rate and no latency`);
  if (unfinished > 0) out.warn(`${unfinished} calls were open one second after the end, and count nowhere`);
  if (late > 0) out.warn(`${late} calls of --rate were due but had not begun: the agent or --callers is the limit`);
  if (generator.isLimit) {
    out.warn("the generator was busy nearly all the time: it is the limit, not the agent");
  }
}
