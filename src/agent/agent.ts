import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import type { AgentCard, AgentCardSchema, Message, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { SecuritySchemeInput } from "../auth/scheme-card.js";
import type { AgentSecurity } from "../auth/security.js";
import type { Caller } from "../core/caller.js";
import type { CallOptions, DelegatedContent, DelegateOptions, RemoteAgent, SubTask } from "./delegation.js";
import type { AgentEvent } from "./event.js";

/** Treatment of an execution that a crash or shutdown interrupted. */
export type Recovery = "fail" | "restart";

/** An agent: its card and a function that answers messages. */
export interface Agent {
  readonly card: AgentCardInput;
  /**
   * Who may call: the schemes of authentication and what calls have to meet. The card's `securitySchemes` and
   * `securityRequirements` come from it, and every binding enforces it. Default: whoever reaches the server, as far as the
   * server's `authenticator` lets them. Specification 4.5, 7.4.
   */
  readonly security?: AgentSecurity;
  /**
   * Which kind of agent this is. `task` (default): every message belongs to a task, which is stored as SUBMITTED
   * before the agent runs. `message`: the one `reply(...)` is the answer and nothing is stored. `either`: the first
   * event decides; a message to an existing task always belongs to that task.
   */
  readonly responds?: "task" | "message" | "either";
  /**
   * What happens to an execution that a crash or a shutdown cut off: `fail` (default) ends the task with a clear
   * status, `restart` runs `execute` again for the same message with the task so far. A function decides per turn.
   */
  readonly recover?: Recovery | ((turn: Turn) => Recovery);
  /**
   * The extended card, for authenticated callers only (specification 3.1.11, 13.3); a function may answer each
   * caller differently, within 10 seconds, and undefined refuses it. What it throws, and a card that is
   * not valid, is an internal error; an `A2AError` reaches the caller as it is.
   */
  readonly extendedCard?: AgentCardInput | ((caller: Caller) => ExtendedCard | Promise<ExtendedCard>);
  /**
   * Looks at a message before anything of it is stored, and may refuse it: an `A2AError` that it throws reaches the caller
   * as it is over every binding, and there is no task, or nothing more in the task that the message was for. Use
   * CONTENT_TYPE_NOT_SUPPORTED, INVALID_PARAMS with violations (a context that cannot be taken: specification 3.4.1),
   * PERMISSION_DENIED, TOO_MANY_REQUESTS and the like. Any other error is an internal one, and so is returning false or an
   * error. A message that a retry under
   * the same idempotency key sends again is not looked at again.
   */
  accept?(request: AcceptRequest, caller: Caller): void | Promise<void>;
  /**
   * Answers one message. Each yielded event is stored before any client sees it; yielding waits only while the log
   * is too far behind. Returning without a final state completes the task, throwing fails it: an `AgentError` with
   * its own text, any other error with a reference id and no detail. Where there is no task yet (`message`, and
   * `either` before its first event) an `A2AError` is the answer to the caller, and nothing is stored. Behind a final state
   * or a direct answer the agent may clean up; an event that it yields there is dropped and named in the log.
   */
  execute(turn: Turn): AsyncIterable<AgentEvent>;
}

/**
 * A message that an agent may still refuse. Its `taskId` and `contextId` are empty unless the client set them. `task`
 * is the one that it goes to, undefined for a new one. `signal` fires when the client goes.
 */
export type AcceptRequest = Omit<Turn, "attempt" | "call" | "caller" | "contextId" | "delegate" | "taskId">;

/**
 * One message to an agent with everything that belongs to it. Read-only; nothing in it is shared with another turn.
 * Much of it is made when it is asked for, so a spread would leave it out: `turnWith` changes a turn for another agent.
 */
export interface Turn {
  /** The message to answer, with `taskId` (unless the answer may be a direct message) and `contextId` filled. */
  readonly message: Message;
  /** Its text parts, joined by line feeds. */
  readonly text: string;
  /** Its data parts. */
  readonly data: readonly JsonValue[];
  /** Id of the task; it becomes real with the first task event where the agent decides between task and message. */
  readonly taskId: string;
  readonly contextId: string;
  /** The task as it stood when the turn began; undefined when there is none yet. */
  readonly task: Task | undefined;
  /** Messages of the task before this one, oldest first. */
  readonly history: readonly Message[];
  /** Tasks named in the message's `referenceTaskIds`, as far as the caller may see them (specification 3.4.3). */
  referencedTasks(): Promise<Task[]>;
  /** The sender of the message. */
  readonly caller: Caller;
  readonly tenant: string;
  /** Extensions in force for the request (specification 4.6). */
  readonly extensions: ReadonlySet<string>;
  /** Media types the client accepts; empty when it did not say (specification 3.2.2). */
  readonly acceptedOutputModes: readonly string[];
  /** Metadata of the request. */
  readonly metadata: JsonObject;
  /** 1, or at least 2 after a crash or a shutdown cut an earlier attempt off: what that one stored is in `task`. */
  readonly attempt: number;
  /**
   * Fires on cancel, and on shutdown when the grace for running work is over (`limits.shutdownGraceMs`); at most a
   * second is left then; and when another process took the task over, because it saw no sign of life of this one:
   * nothing more is stored then. `signal.reason` is an `AbortReason` with the cause. A client that hangs up does not fire it,
   * except where the answer is a direct message, which no other client could read.
   */
  readonly signal: AbortSignal;
  /**
   * A client of another agent, for this turn. The agent is one of the server's `remoteAgents`, by its name there, or the URL of its
   * card or below which its card is. What a caller sent is never to be taken for that URL: it is called from inside of your network.
   */
  call(agent: string, options?: CallOptions): Promise<RemoteAgent>;
  /**
   * Hands a sub-task to another agent and relays what comes of it, to be used with `yield*`, which gives the sub-task as it ended:
   * its status texts, its artifacts as they grow (under ids of their own), its questions to the user. The user's answer goes to the
   * same sub-task: the turn that it comes with begins `execute` from the start, and delegations that are over give what they gave.
   * A cancel of the task cancels the sub-task. A turn that runs again after a crash goes on with the sub-task where it was, and
   * relays nothing twice. docs/delegation.md says more.
   *
   * @param message default: the message of the turn, or the one that began the work where this turn only answers a question
   * @throws AgentError when the other agent cannot be asked; TurnPaused when it waits for its user
   */
  delegate(
    agent: string,
    message?: DelegatedContent,
    options?: DelegateOptions,
  ): AsyncGenerator<AgentEvent, SubTask, undefined>;
}

/** Returns the turn with other values, to pass it to another agent. */
export function turnWith(turn: Turn, changes: Partial<Turn>): Turn {
  return Object.create(turn, Object.getOwnPropertyDescriptors(changes)) as Turn;
}

/** Result of a function that returns the extended card for a caller. */
export type ExtendedCard = AgentCardInput | undefined;

/**
 * Fields of a card that an author sets; the server adds `supportedInterfaces` and its capabilities. `defaultInputModes`
 * and `defaultOutputModes` are `["text/plain"]` unless given. Security schemes are written as in the specification's
 * JSON, or as protobuf's objects have them. Specification 4.4.1.
 */
export type AgentCardInput = AgentCard | CardFields;

interface CardFields extends Omit<Exclude<MessageInitShape<typeof AgentCardSchema>, AgentCard>, "securitySchemes"> {
  /** Ways to authenticate, by a name that `securityRequirements` refer to. Specification 4.5.1. */
  readonly securitySchemes?: { readonly [name: string]: SecuritySchemeInput };
}
