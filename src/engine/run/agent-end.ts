import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Turn } from "../../agent/agent.js";
import type { EventReader } from "../../agent/agent-events.js";
import { InvalidAgentEvent } from "../../agent/checked-copies.js";
import { AgentError, TurnPaused } from "../../agent/errors.js";
import { type AgentEvent, isEvent } from "../../agent/event.js";
import { endCalls } from "../../agent/turn.js";
import { within } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import type { Logger } from "../../core/log.js";
import { described } from "../../core/options.js";
import { isInterrupted, isTerminal } from "../../task/state.js";

/** Maximum characters of a failure text, which is stored even for a task of maximum size. */
const MAX_REASON = 10_000;

const INVALID_ANSWER = "The agent's answer is not valid:";

/** Lets an agent clean up after its last event; logs any error. */
export async function closeIterator(iterator: AsyncIterator<AgentEvent>, logger: Logger): Promise<void> {
  try {
    await iterator.return?.();
  } catch (error) {
    // After a question, a delegation that the agent awaits in its cleanup throws TurnPaused.
    if (!(error instanceof TurnPaused)) logger.warn({ err: error }, "an agent threw after its last event");
  }
}

/** An agent's last event. */
interface AgentEnd {
  /** The final state of its task; undefined after a direct reply. */
  readonly state?: TaskState;
  /** The turn to end when the agent has returned; undefined if the execution ends it. */
  readonly turn?: Turn;
}

/**
 * Runs an agent after its last event until it returns. A further event is logged and dropped, and the agent is stopped
 * there. Errors are only logged.
 */
export async function runToEnd(iterator: EventReader, end: AgentEnd, logger: Logger): Promise<void> {
  try {
    const extra: IteratorResult<unknown> = await iterator.rest();
    if (extra.done && !isEvent(extra.value)) return;
    nameLate(extra.value, end, logger);
    if (!extra.done) await iterator.return?.();
  } catch (error) {
    logger.warn({ err: error }, "an agent threw after its last event");
  } finally {
    if (end.turn !== undefined) endCalls(end.turn);
  }
}

/** Time for an agent to return after the last event of its task; then its signal fires and the execution ends. */
export const agentCleanup = { timeoutMs: 30_000 } as const;

/** Lets an agent clean up after the last event of its turn, which ended the task unless it could not be stored. */
export class AgentCleanup {
  readonly #work: Promise<void>;
  #isOver = false;

  /** @param last the state that the turn has yielded last, if any */
  constructor(iterator: EventReader, last: TaskState | undefined, logger: Logger) {
    this.#work = this.#run(iterator, last, logger);
  }

  async #run(iterator: EventReader, last: TaskState | undefined, logger: Logger): Promise<void> {
    if (last === undefined || !isTerminal(last)) await closeIterator(iterator, logger);
    else await runToEnd(iterator, { state: last }, logger);
    this.#isOver = true;
  }

  /**
   * Waits until the agent has returned or its execution has ended.
   * @returns false if that takes longer than `agentCleanup.timeoutMs`
   */
  async over(executionEnd: Promise<void>): Promise<boolean> {
    return this.#isOver || within(agentCleanup.timeoutMs, Promise.race([this.#work, executionEnd]));
  }
}

function nameLate(event: unknown, { state }: AgentEnd, logger: Logger): void {
  const where = state === undefined ? "its direct answer" : "the end of its task";
  const facts = { event: eventKind(event), ...(state !== undefined && { ended: TaskState[state] }) };
  logger.warn(facts, `an agent yielded an event after ${where}; the event is dropped, and the agent stopped`);
}

/** Logs an event that a turn emits after its end. */
export function logLate(event: unknown, logger: Logger): void {
  logger.warn({ event: eventKind(event) }, "an agent emitted an event after its turn; the event is dropped");
}

/** Names the kind of an event for the log. */
function eventKind(event: unknown): string {
  if (!isEvent(event)) return "none";
  return event.kind === "status" ? (TaskState[event.state] ?? "status") : String(event.kind);
}

/** Returns the error text for the client (specification 3.3.2, 13.4): the message of an AgentError, or a reference. */
export function failureText(error: unknown, logger: Logger): string {
  const text = textFor(error);
  if (text?.startsWith(INVALID_ANSWER)) {
    const yielded = error instanceof InvalidAgentEvent ? error.yielded : undefined;
    logger.error({ why: text, ...(yielded && { yielded }) }, "an agent's answer is not valid");
  }
  if (text !== undefined) return text;
  const reference = newId();
  logger.error({ err: error, reference }, "an agent failed unexpectedly");
  return `The agent failed unexpectedly. Reference: ${reference}`;
}

/** True if a turn with the given last state ended with a form or another agent's question, not because of a failure. */
export function isPause(error: unknown, last: TaskState | undefined): boolean {
  return last !== undefined && isInterrupted(last) && error instanceof TurnPaused;
}

/** Returns the error for a yielded value that is not an event. */
export function notAnEvent(value: unknown): InvalidAgentEvent {
  return new InvalidAgentEvent("yield what working(), artifact(), completed() and the like make", described(value));
}

/** Limits of outgoing calls, reported when an agent does not handle them. */
const callLimits: readonly unknown[] = ["maxDelegationDepth", "maxRemoteCalls"];

/** Returns the name of the limit of the server that an error names, if any. An agent may throw any value. */
export function limitIn(error: unknown): string | undefined {
  try {
    return error instanceof A2AError && isLimit(error) ? error.metadata.limit : undefined;
  } catch {
    return undefined;
  }
}

/** True if an error names a limit of the server, which clients may see. */
function isLimit({ reason, metadata }: A2AError): boolean {
  return reason === "TASK_TOO_LARGE" || callLimits.includes(metadata.limit);
}

/**
 * Returns the text of an error for the client, if it has one. An agent may throw any value, even one whose properties
 * throw.
 */
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
