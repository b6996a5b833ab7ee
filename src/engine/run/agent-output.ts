import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Turn } from "../../agent/agent.js";
import { InvalidAgentEvent } from "../../agent/checked-copies.js";
import { AgentError } from "../../agent/errors.js";
import type { AgentEvent } from "../../agent/event.js";
import { endCalls } from "../../agent/turn.js";
import { described } from "../../core/describe.js";
import { A2AError } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import type { Logger } from "../../core/log.js";

/** Characters of a reason for a failure: it is stored however large its task is. */
const MAX_REASON = 10_000;

const INVALID_ANSWER = "The agent's answer is not valid:";

/** Lets an agent clean up after its last event; an error in that is logged, and nothing more. */
export async function closeIterator(iterator: AsyncIterator<AgentEvent>, logger: Logger): Promise<void> {
  try {
    await iterator.return?.();
  } catch (error) {
    logger.warn({ err: error }, "an agent threw after its last event");
  }
}

/** What an agent ended with its last event. */
export interface AgentEnd {
  /** Name of the agent, as its card has it. */
  readonly agent: string | undefined;
  /** The task and its final state; undefined after a direct answer. */
  readonly task?: { readonly taskId: string; readonly state: TaskState };
  /** The turn that is over when the agent has ended; undefined where its execution sees to that. */
  readonly turn?: Turn;
}

/**
 * Lets an agent run to its end behind its last event. An event that it yields there is dropped and named in the log, and the
 * agent is stopped at it. An error is logged, and nothing more.
 */
export async function runToEnd(iterator: AsyncIterator<AgentEvent>, end: AgentEnd, logger: Logger): Promise<void> {
  try {
    const late: IteratorResult<unknown> = await iterator.next();
    if (late.done && !isEvent(late.value)) return;
    nameLate(late.value, end, logger);
    if (!late.done) await iterator.return?.();
  } catch (error) {
    logger.warn({ err: error }, "an agent threw after its last event");
  } finally {
    if (end.turn !== undefined) endCalls(end.turn);
  }
}

function nameLate(event: unknown, { agent, task }: AgentEnd, logger: Logger): void {
  const where = task === undefined ? "its direct answer" : "the end of its task";
  const facts = { agent, event: kindOf(event), ...(task && { taskId: task.taskId, ended: TaskState[task.state] }) };
  logger.warn(facts, `an agent yielded an event after ${where}; the event is dropped, and the agent stopped`);
}

/** What kind of event a value is, in a word. */
function kindOf(event: unknown): string {
  if (!isEvent(event)) return "none";
  return event.kind === "status" ? (TaskState[event.state] ?? "status") : String(event.kind);
}

/** What the client may know of an error (specification 3.3.2, 13.4): the text of an AgentError, or a reference. */
export function failureText(error: unknown, logger: Logger, taskId: string): string {
  const text = textFor(error);
  if (text?.startsWith(INVALID_ANSWER)) {
    const yielded = error instanceof InvalidAgentEvent ? error.yielded : undefined;
    logger.error({ taskId, why: text, ...(yielded && { yielded }) }, "an agent's answer is not valid");
  }
  if (text !== undefined) return text;
  const reference = newId();
  logger.error({ err: error, reference, taskId }, "an agent failed unexpectedly");
  return `The agent failed unexpectedly. Reference: ${reference}`;
}

/** Whether a value looks like an event; authors without a type checker yield anything. */
export function isEvent(value: unknown): value is AgentEvent {
  if (typeof value !== "object" || value === null || !("kind" in value)) return false;
  const { kind } = value;
  return kind === "artifact" || kind === "status" || kind === "reply";
}

/** The error for a value that an agent yielded and that is not an event. */
export function notAnEvent(value: unknown): InvalidAgentEvent {
  return new InvalidAgentEvent("yield what working(), artifact(), completed() and the like make", described(value));
}

/** The limits of calls of other agents, which end an agent that does not expect them. */
const callLimits: readonly unknown[] = ["maxDelegationDepth", "maxRemoteCalls"];

/** Whether an error names a limit of the server, which its client may know. */
function isLimit({ reason, metadata }: A2AError): boolean {
  return reason === "TASK_TOO_LARGE" || callLimits.includes(metadata.limit);
}

/** An agent may throw any value, also one that throws when it is read. */
function textFor(error: unknown): string | undefined {
  try {
    if (error instanceof A2AError && isLimit(error)) return error.message;
    if (error instanceof InvalidAgentEvent) return `${INVALID_ANSWER} ${error.message}.`;
    if (!(error instanceof AgentError) || typeof error.message !== "string") return undefined;
    return error.message.length <= MAX_REASON ? error.message : `${error.message.slice(0, MAX_REASON)}…`;
  } catch {
    return undefined;
  }
}
