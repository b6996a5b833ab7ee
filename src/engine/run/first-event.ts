import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Client, TurnAborter } from "../../agent/abort.js";
import type { Agent, Turn } from "../../agent/agent.js";
import { startAgent } from "../../agent/agent-calls.js";
import type { EventReader } from "../../agent/agent-events.js";
import { checkValues, InvalidAgentEvent } from "../../agent/checked-copies.js";
import { type AgentEvent, type Content, completed, type ReplyEvent } from "../../agent/event.js";
import { agentMessage } from "../../agent/message.js";
import { endCalls, makeTurn, type TurnSource } from "../../agent/turn.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { classOf } from "../../agent/turn-span.js";
import { bounded, isPromiseLike } from "../../core/async.js";
import { A2AError, toA2AError } from "../../core/error.js";
import { CauseLogger, type Logger } from "../../core/log.js";
import { described } from "../../core/options.js";
import { type TaskFold, viewTask } from "../../task/fold.js";
import { closeIterator, failureText, runToEnd } from "./agent-end.js";
import { changesOf } from "./turn-conversation.js";

/** A turn for which no task exists yet. */
interface TasklessTurn {
  readonly agent: Agent;
  readonly turn: TurnRequest;
  /** Until a task exists, only this client can read the answer. */
  readonly client: Client;
  readonly source: TurnSource;
}

/** A turn whose agent already runs, because its first event decided for a task. */
export interface PendingTurn {
  readonly agent: Agent;
  readonly iterator: EventReader;
  readonly aborter: TurnAborter;
  readonly turn: Turn;
  /** Its first event; undefined if the agent threw before it. */
  readonly first: IteratorResult<AgentEvent> | undefined;
  /** The agent's rejection of the message, if the agent may reject it. Nothing is stored then. */
  readonly refusal?: A2AError | undefined;
}

/** Runs an agent up to its first event, which decides between a direct reply and a task. */
export function firstEvent({ agent, turn, client, source }: TasklessTurn): Promise<PendingTurn> {
  const aborter = new TurnAborter(client);
  const view = makeTurn(turn, { task: undefined, aborter, source });
  const iterator = startAgent(agent, view);
  const failed = (error: unknown): PendingTurn => {
    const refusal = refusalOf(error);
    endCalls(view, false, refusal === undefined ? classOf(error) : undefined);
    const rejected = (): Promise<never> => Promise.reject(error);
    const iterator = { next: rejected, rest: rejected };
    return { agent, iterator, aborter, turn: view, first: undefined, refusal };
  };
  return iterator.next().then((first) => {
    try {
      // A getter that throws counts as no event.
      void first.done;
    } catch (error) {
      return failed(error);
    }
    return { agent, iterator, aborter, turn: view, first };
  }, failed);
}

/**
 * Calls the agent's `accept`, if it has one.
 * @param fold the task that receives the message, if any
 * @throws A2AError the agent's rejection; UNAVAILABLE on a timeout; INTERNAL if `accept` fails
 */
export async function askToAccept(
  { agent, turn, client, source }: TasklessTurn,
  { logger, timeoutMs, fold }: { readonly logger: Logger; readonly timeoutMs: number; readonly fold?: TaskFold },
): Promise<void> {
  if (agent.accept === undefined) return;
  const aborter = new TurnAborter(client);
  const tooLate = (): A2AError => {
    aborter.abort("disconnected");
    return new A2AError("UNAVAILABLE", "The agent did not say in time whether it takes the message.", {
      retryAfterMs: 1_000,
    });
  };
  const task = fold && viewTask(fold.task);
  const view = makeTurn(turn, { task, initialMetadata: fold?.initialMetadata, aborter, source });
  try {
    const verdict: unknown = agent.accept(view, turn.caller);
    const timeout = { ms: timeoutMs, error: tooLate };
    checkAccepted(isPromiseLike(verdict) ? await bounded(Promise.resolve(verdict), { timeout }) : verdict);
  } catch (error) {
    const text = (): string => failureText(error, new CauseLogger(logger, turn, agent.card.name));
    throw refusalOf(error) ?? new A2AError("INTERNAL", text(), { cause: error });
  } finally {
    endCalls(view);
    aborter.unfollow();
  }
}

/**
 * Checks the return value of `accept`, which has to throw to reject a message. A value that suggests a rejection, or
 * that `accept` never ran, must not admit the message.
 *
 * @throws TypeError
 */
function checkAccepted(verdict: unknown): void {
  if (verdict === undefined) return;
  const isGenerator = typeof verdict === "object" && verdict !== null && "next" in verdict && "throw" in verdict;
  if (verdict === false || verdict instanceof Error || isGenerator) {
    const what = isGenerator ? "is a generator, which is never run" : "returned instead of throwing";
    throw new TypeError(`accept() refuses a message by throwing an A2AError; it ${what}`);
  }
}

/**
 * Returns an error that the agent means for the caller. An agent may throw anything, even values whose properties
 * throw.
 */
function refusalOf(error: unknown): A2AError | undefined {
  try {
    return error instanceof A2AError ? error : undefined;
  } catch {
    return undefined;
  }
}

/** True if the agent replies directly. */
export function isReply(started: PendingTurn): started is Replied {
  return isReplyEvent(started.first?.value);
}

/** An agent whose first event is a direct reply; `return reply(…)` is equivalent to `yield reply(…)`. */
export type Replied = PendingTurn & { readonly first: IteratorResult<ReplyEvent> };

/**
 * True if a value is a direct reply. An agent without a type checker may yield anything, even values whose properties
 * throw.
 */
function isReplyEvent(value: unknown): value is ReplyEvent {
  try {
    return (value as Partial<ReplyEvent> | null | undefined)?.kind === "reply";
  } catch {
    return false;
  }
}

/**
 * Returns the direct reply as a message (specification 3.1.1).
 * @throws A2AError INVALID_AGENT_RESPONSE if the agent gave none, INTERNAL if it failed
 */
export function directReply(started: PendingTurn, contextId: string, logger: Logger): Message | Promise<Message> {
  if (isReply(started)) return directAnswer(started, started.first.value, contextId, logger);
  return replyOf(started, logger).then((event) => directAnswer(started, event, contextId, logger));
}

function directAnswer(started: PendingTurn, event: ReplyEvent, contextId: string, logger: Logger): Message {
  const message = checkedReply(started, event, contextId, logger);
  if (changesOf(started.turn)?.unstored !== undefined) {
    void abandonAgent(started, logger, "INTERNAL");
    const text = "A direct reply stores no change of the conversation's state, unless the agent `remembers`";
    throw new A2AError("INTERNAL", failureText(new TypeError(text), logger));
  }
  // As with a task, the call does not wait for the agent to return.
  void runToEnd(started.iterator, { turn: started.turn }, logger);
  started.aborter.unfollow();
  return message;
}

/**
 * Returns a direct reply as a message. An agent whose reply is not valid is stopped.
 * @throws A2AError INVALID_AGENT_RESPONSE
 */
export function checkedReply(
  started: PendingTurn,
  { content }: ReplyEvent,
  contextId: string,
  logger: Logger,
): Message {
  try {
    const message = replyMessage(content, contextId, logger);
    if (message.parts.length > 0) return message;
    throw new A2AError("INVALID_AGENT_RESPONSE", "The agent's message has no parts.");
  } catch (error) {
    void abandonAgent(started, logger, toA2AError(error).reason);
    throw error;
  }
}

/** Replaces a direct reply by the end of a task with the same content. */
export function asTask(started: Replied): PendingTurn {
  const { done, value } = started.first;
  return { ...started, first: { done, value: completed(value.content) } as IteratorResult<AgentEvent> };
}

function replyMessage(content: Content, contextId: string, logger: Logger): Message {
  try {
    checkValues(content);
    return agentMessage(content, { contextId, taskId: "" });
  } catch (error) {
    if (!(error instanceof InvalidAgentEvent)) throw error;
    throw new A2AError("INVALID_AGENT_RESPONSE", failureText(error, logger), { cause: error });
  }
}

/**
 * Stops an agent that was started for a task which is not created.
 * @param failure class of the error that the agent has made, if any
 */
export async function abandonAgent(
  { iterator, aborter, turn }: PendingTurn,
  logger: Logger,
  failure?: string,
): Promise<void> {
  aborter.abort("canceled");
  await closeIterator(iterator, logger);
  endCalls(turn, false, failure);
}

async function replyOf(started: PendingTurn, logger: Logger): Promise<ReplyEvent> {
  let result = started.first;
  if (started.refusal !== undefined) throw started.refusal;
  try {
    result ??= await started.iterator.next();
  } catch (error) {
    endCalls(started.turn);
    throw new A2AError("INTERNAL", failureText(error, logger), { cause: error });
  }
  if (isReplyEvent(result.value)) return result.value;
  const why = new A2AError("INVALID_AGENT_RESPONSE", "The agent did not answer with a message.");
  void closeIterator(started.iterator, logger).then(() => endCalls(started.turn, false, why.reason));
  logger.error({ why: why.message, yielded: described(result.value) }, "an agent's answer is not valid");
  throw why;
}
