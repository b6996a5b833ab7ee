import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import type { AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { SecuritySchemeInput } from "../auth/scheme-card.js";
import type { AgentSecurity } from "../auth/security.js";
import type { Caller } from "../core/call.js";
import type { PlainFile, PlainPart, ReadableMessage, ReadableTask } from "../task/plain.js";
import type { TurnConversation } from "./conversation.js";
import type { DelegatedContent, DelegateOptions, RemoteAgent, SubTask, TurnCallOptions } from "./delegation.js";
import type { AgentEvent } from "./event.js";
import type { FormOptions } from "./form.js";
import type { FormAnswer, FormSchema } from "./schema.js";
import type { StepOptions, StepWork } from "./steps.js";

/** Treatment of an execution that a crash or shutdown interrupted. */
export type Recovery = "fail" | "restart";

/** An agent: its card and a function that answers messages. */
export interface Agent {
  readonly card: AgentCardInput;
  /**
   * Security schemes and requirements for callers. The card's `securitySchemes` and `securityRequirements` are derived
   * from it, and every binding enforces it. Default: anyone that the server's `authenticator` admits. Specification
   * 4.5, 7.4.
   */
  readonly security?: AgentSecurity;
  /**
   * Kind of the agent. `task` (default): every message belongs to a task, which is stored as SUBMITTED before the agent
   * runs. `message`: the one `reply(...)` is the answer and nothing is stored. `either`: the first event decides; a
   * message to an existing task always belongs to that task.
   */
  readonly responds?: "task" | "message" | "either";
  /**
   * True stores each direct reply together with its message, as a completed task of the conversation: `turn.conversation`
   * and lists then have it, and the agent may change the conversation's state. The caller still gets the message.
   * Default: a direct reply leaves nothing behind.
   */
  readonly remembers?: boolean;
  /**
   * Treatment of an execution that a crash or shutdown interrupted: `fail` (default) ends the task with a clear status,
   * `restart` runs `execute` again for the same message with the task so far. A function decides per turn.
   */
  readonly recover?: Recovery | ((turn: Turn) => Recovery);
  /**
   * Refuses a request with CONTENT_TYPE_NOT_SUPPORTED if its `acceptedOutputModes` exclude all media types that the card
   * (`defaultOutputModes`) and its skills (`outputModes`) declare; nothing is stored (specification 3.2.2). `text`,
   * `text/*` and the like are understood. Default: the agent sees them in `turn.acceptedOutputModes`.
   */
  readonly checkOutputModes?: boolean;
  /**
   * The extended card, for authenticated callers only (specification 3.1.11, 13.3). A function may return a card per
   * caller, within 10 seconds, or undefined to reject the call. Its errors, and an invalid card, are internal errors;
   * an `A2AError` reaches the caller unchanged.
   */
  readonly extendedCard?: AgentCardInput | ((caller: Caller) => ExtendedCard | Promise<ExtendedCard>);
  /**
   * Checks a message before anything of it is stored, and may reject it: a thrown `A2AError` reaches the caller
   * unchanged over every binding, and no task, or no further entry of an existing task, is created. Use
   * CONTENT_TYPE_NOT_SUPPORTED, INVALID_PARAMS with violations (a context that cannot be accepted: specification
   * 3.4.1), PERMISSION_DENIED, TOO_MANY_REQUESTS and the like. Any other error is an internal one, and so is returning
   * false or an error. Not called for a retry under the same idempotency key.
   */
  accept?(request: AcceptRequest, caller: Caller): void | Promise<void>;
  /**
   * Answers one message. Each yielded event is stored before any client sees it; yielding waits only while too many
   * events are unstored. Returning without a final state completes the task. Throwing fails it: an `AgentError` with
   * its own text, any other error with a reference id and no detail. Before a task exists (`message`, and `either`
   * before its first event) an `A2AError` is the answer to the caller, and nothing is stored. After a final state or a
   * direct reply the agent may clean up; a further event is dropped and logged.
   */
  execute(turn: Turn): AsyncIterable<AgentEvent>;
}

/**
 * A message that an agent may reject. Its `taskId` and `contextId` are empty unless the client set them. `task` is the
 * task that it is sent to, undefined for a new one. `signal` fires when the client disconnects.
 */
export type AcceptRequest = Omit<
  Turn,
  | "attempt"
  | "call"
  | "caller"
  | "contextId"
  | "conversation"
  | "delegate"
  | "emit"
  | "form"
  | "remoteAgents"
  | "step"
  | "taskId"
>;

/**
 * One message to an agent with its context. Read-only and not shared with other turns. Many properties are computed on
 * access and missing from a spread: use `turnWith` of `parley-a2a/testing` to change a turn for another agent.
 */
export interface Turn {
  /** The message to answer, with `contextId` and (unless a direct reply is possible) `taskId` filled in. */
  readonly message: ReadableMessage;
  /** Its parts as plain values. */
  readonly parts: readonly PlainPart[];
  /** Its text parts, joined by line feeds. */
  readonly text: string;
  /** Its data parts. */
  readonly data: readonly JsonValue[];
  /** Its files. */
  readonly files: readonly PlainFile[];
  /** Id of the task. If the agent decides between task and message, the first task event creates the task. */
  readonly taskId: string;
  readonly contextId: string;
  /** The task at the start of the turn; undefined if it does not exist yet. */
  readonly task: ReadableTask | undefined;
  /** Messages of the task before this one, oldest first. */
  readonly history: readonly ReadableMessage[];
  /** The tasks of the same caller and context, their messages and artifacts, and a state that they share. */
  readonly conversation: TurnConversation;
  /** Tasks named in the message's `referenceTaskIds`, as far as the caller may see them (specification 3.4.3). */
  referencedTasks(): Promise<ReadableTask[]>;
  /** The sender of the message. */
  readonly caller: Caller;
  readonly tenant: string;
  /** Extensions in force for the request (specification 4.6). */
  readonly extensions: ReadonlySet<string>;
  /** Media types the client accepts; empty if unspecified (specification 3.2.2). */
  readonly acceptedOutputModes: readonly string[];
  /** Metadata of the request. */
  readonly metadata: JsonObject;
  /** Metadata of the request with the task's first message; the same in all its turns. */
  readonly initialMetadata: JsonObject;
  /** 1, or at least 2 if a crash or shutdown interrupted an earlier attempt: its stored events are in `task`. */
  readonly attempt: number;
  /**
   * Fires on a cancel; on shutdown after the grace period of running work (`limits.shutdownGraceMs`), with at most one
   * more second left; and when another process took the task over after missed heartbeats, when nothing more is stored.
   * `signal.reason` is an `AbortReason` with the cause. A client that disconnects does not fire it, except during a
   * direct reply, which no other client could read.
   */
  readonly signal: AbortSignal;
  /** Names of the agents that `call` and `delegate` may name now, besides URLs: those of the server's `remoteAgents`. */
  readonly remoteAgents: readonly string[];
  /**
   * Runs `fn` once and stores its result before it resolves, so that a turn that runs again after a crash gets the
   * result instead: for calls of models and for everything that must not happen twice. The result is JSON of at most 1
   * MiB, or undefined. Errors are stored as well: an `AgentError` is thrown as one, any other as a `StepError`. If the
   * turn's signal fires, `fn` has to end, and its error is not stored.
   *
   * A turn that runs again has to ask for its steps in the same order. A name that is used again, as in a loop, is
   * counted. Steps that run at the same time need different names. Clients see nothing of a step. Before a task exists
   * (`message`, and `either` before its first event) results are stored with the task, if there will be one. See
   * docs/memory.md.
   *
   * @param name at most 65,536 characters
   * @throws StepError, AgentError; StepOrderError; TypeError if the result is not JSON; AbortReason if the signal has
   * fired
   */
  step<T>(name: string, fn: StepWork<T>, options?: StepOptions): Promise<T>;
  /**
   * Yields an event from a callback of a tool or model. Events are stored in the order in which they are yielded and
   * emitted. Resolves when the next event is wanted, and never rejects: await it where many events follow each other, and
   * do not change the event before it resolves. An event after the end of the turn is dropped and logged.
   */
  emit(event: AgentEvent): Promise<void>;
  /**
   * Returns a client of another agent, for this turn. The agent is a name in the server's `remoteAgents`, or the URL of
   * its card or of the agent. Never use a caller's input as that URL: it is called from inside your network.
   */
  call(agent: string, options?: TurnCallOptions): Promise<RemoteAgent>;
  /**
   * Delegates a sub-task to another agent and relays its events. Use it with `yield*`, which returns the finished
   * sub-task: its status texts, its growing artifacts (under separate ids) and its questions to the user are relayed.
   * The user's answer goes to the same sub-task: its turn runs `execute` from the start, and finished delegations
   * return their earlier results. A cancel of the task cancels the sub-task. A turn rerun after a crash resumes the
   * sub-task and relays nothing twice. See docs/delegation.md.
   *
   * @param message default: the message of the turn, or the original one if this turn only answers a question
   * @throws AgentError if the other agent cannot be called; TurnPaused if it waits for its user
   */
  delegate(
    agent: string,
    message?: DelegatedContent,
    options?: DelegateOptions,
  ): AsyncGenerator<AgentEvent, SubTask, undefined>;
  /**
   * Asks the user to fill in a form. Use it with `yield*`, which returns the valid answer, typed by the schema: a
   * Standard Schema (zod, valibot, arktype) or a JSON Schema. The question ends the turn. The answer arrives as a new
   * turn, which runs `execute` from the start and gets it here. After an invalid answer the form is asked again, with the
   * violations and the values that the user filled in. The answer is stored, and later turns of the task get it again.
   * See docs/questions.md.
   *
   * @throws FormDeclined if the user declines; TypeError for a schema without JSON Schema
   */
  form<const Schema extends FormSchema>(
    schema: Schema,
    options: FormOptions,
  ): AsyncGenerator<AgentEvent, FormAnswer<Schema>, undefined>;
}

/** Returns the turn with other values, to pass it to another agent. */
export function turnWith(turn: Turn, changes: Partial<Turn>): Turn {
  return Object.create(turn, Object.getOwnPropertyDescriptors(changes)) as Turn;
}

/** Result of a function that returns the extended card for a caller. */
export type ExtendedCard = AgentCardInput | undefined;

/**
 * Fields of a card that an author sets; the server adds `supportedInterfaces` and its capabilities. `defaultInputModes`
 * and `defaultOutputModes` default to `["text/plain"]`. Security schemes are written as in the specification's JSON, or
 * as protobuf objects. Specification 4.4.1.
 */
export type AgentCardInput = AgentCard | CardFields;

interface CardFields extends Omit<Exclude<MessageInitShape<typeof AgentCardSchema>, AgentCard>, "securitySchemes"> {
  /** Security schemes, by the names used in `securityRequirements`. Specification 4.5.1. */
  readonly securitySchemes?: { readonly [name: string]: SecuritySchemeInput };
}
