import type { JsonObject } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import {
  type A2AService,
  type AgentCard,
  type Artifact,
  type Message,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { PartInput } from "../task/part-input.js";
import type { AgentEvent, Content } from "./event.js";
import type { TurnRequest } from "./turn-request.js";

/** Options of `turn.call`. */
export interface CallOptions {
  /** The longest that one call with one answer may take, in milliseconds. Default `limits.remoteTimeoutMs`. */
  readonly timeoutMs?: number;
}

/** Message for another agent: a text, parts, or a message with more fields (specification 4.1.4). */
export type RemoteMessage =
  | string
  | readonly PartInput[]
  | {
      readonly parts: string | readonly PartInput[];
      readonly contextId?: string;
      /** Task that it goes on with. Left out: a new one. */
      readonly taskId?: string;
      readonly referenceTaskIds?: readonly string[];
      readonly metadata?: JsonObject;
      readonly extensions?: readonly string[];
      readonly messageId?: string;
    };

/** Options of one call of another agent. */
export interface RemoteOptions {
  /** Ends the call, as the turn's own signal does. */
  readonly signal?: AbortSignal;
  /** For how long all of it may take, in milliseconds. */
  readonly timeoutMs?: number;
  readonly headers?: Headers | Readonly<Record<string, string>>;
}

/** Answer of another agent: a task or a message. */
export interface RemoteAnswer {
  readonly task: Task | undefined;
  readonly message: Message | undefined;
  /** Of a message its text, of a task that of its artifacts, or else of its status. */
  readonly text: string;
  readonly state: TaskState | undefined;
  readonly taskId: string | undefined;
  readonly contextId: string;
}

/** One step of another agent's stream. */
export interface RemoteUpdate {
  /** `snapshot`: the stream was cut, and the task was read anew. */
  readonly kind: "task" | "status" | "artifact" | "message" | "snapshot";
  /** The task as it stands with it; it goes on changing. */
  readonly task: Task | undefined;
  readonly message: Message | undefined;
  readonly artifact: Artifact | undefined;
  /** What it adds, as text. */
  readonly text: string;
  readonly event: StreamResponse | undefined;
  readonly generation: number | undefined;
}

/**
 * A client of another agent for one turn, with all methods of the protocol and `send`, `stream` and `follow`. Its calls
 * carry the turn's trace and, where the server's `remoteAgents` says so, the caller's token; they end when the turn's
 * signal fires, and streams with the turn. Those of a turn that answers directly have the deadline of its caller. Every
 * method rejects with an A2AError.
 */
export interface RemoteAgent extends Client<typeof A2AService> {
  readonly card: AgentCard;
  /** Sends a message and waits until its task is over or waits for its client. */
  send(message: RemoteMessage, options?: RemoteOptions): Promise<RemoteAnswer>;
  /** Sends a message and tells what comes of it. A stream that is cut goes on by itself. Leaving the loop ends the call alone. */
  stream(message: RemoteMessage, options?: RemoteOptions): AsyncIterable<RemoteUpdate>;
  /** Follows a task to its end, or to where it waits for its client. */
  follow(taskId: string, options?: RemoteOptions): AsyncIterable<RemoteUpdate>;
}

/** Message for another agent: the author's content, or a received message. */
export type DelegatedContent = Content | Message;

/** Options of `turn.delegate`. */
export interface DelegateOptions {
  /**
   * Tells the delegations of a turn apart, also after a crash. Default: their number, in the order of the calls, which has to be
   * the same when the turn runs again; give names where it is not. At most 64 characters.
   */
  readonly name?: string;
  /** The context that a new sub-task belongs to. Default: one of its own, which the other agent makes. */
  readonly contextId?: string;
  /**
   * What answers a question of the other agent (INPUT_REQUIRED), when its user has answered. Default: the message of the turn
   * that the answer came with, as it came.
   */
  readonly answer?: DelegatedContent;
}

/** Result of a sub-task. */
export interface SubTask {
  /** The other agent, as it was named. */
  readonly agent: string;
  /** The sub-task in its final state, with history and artifacts. Undefined where the agent answered by a message. */
  readonly task: Task | undefined;
  /** The message of an agent that answered directly. */
  readonly message: Message | undefined;
  /** The final state: COMPLETED, FAILED, CANCELED or REJECTED; COMPLETED for a direct answer. */
  readonly state: TaskState;
  /** The text of its artifacts, or of the message that it ended with where it has none. */
  readonly text: string;
}

/** Where in another agent's task an event comes from. Stored with the event (`Relay` in proto/parley/log/v1). */
export interface RelayMark {
  readonly delegation: string;
  readonly origin: number;
  readonly turn: number;
  readonly agent: string;
  readonly taskId: string;
  readonly generation: number;
  readonly messageId: string;
  readonly state: TaskState;
}

/** Tells if a mark says that a message was about to go to another agent, and no more. The message's id is the mark's. */
export function isSend({ taskId, state }: RelayMark): boolean {
  return taskId === "" && state === TaskState.SUBMITTED;
}

/** Where an event keeps its mark: a symbol, so that an author who copies an event takes it along, and none makes one. */
export const relayMark: unique symbol = Symbol("relay");

/** An event that was relayed. */
export interface Relayed {
  readonly [relayMark]?: RelayMark;
}

/** What is stored of a relayed event, besides its artifact. */
export interface RelayedEvent {
  readonly mark: RelayMark;
  /** The message of a status. */
  readonly message: Message | undefined;
}

/** The turn that calls others, as far as they need it. */
export interface CallingTurn {
  readonly request: TurnRequest;
  readonly signal: AbortSignal;
  /** For how long the caller of a direct answer waits, in milliseconds since 1970; Infinity otherwise, as tasks have no end. */
  readonly deadline: number;
  /** The task as it stood when the turn began. */
  readonly task: Task | undefined;
  /** What this turn relayed in attempts before, and what the turns relayed whose question it answers, in order. */
  relayed(): Promise<readonly RelayedEvent[]>;
  /** Stores that a message which begins a sub-task goes out next, so that the sub-task is found whatever becomes of this process. */
  sending(mark: RelayMark): Promise<void>;
  /** A message of the task, by its position in the log. */
  messageAt(position: number): Promise<Message>;
}

/** How one turn calls other agents. */
export interface TurnCalls {
  call(agent: string, options?: CallOptions): Promise<RemoteAgent>;
  delegate(
    agent: string,
    message: DelegatedContent | undefined,
    options?: DelegateOptions,
  ): AsyncGenerator<AgentEvent, SubTask, undefined>;
  /** Tells if the turn sees to a sub-task itself: it has begun it, goes on with it, or has ended it. */
  sees(mark: RelayMark): boolean;
  /** The task ends: cancels the sub-tasks that the turn has left open. Resolves with the other agents' answers, and never rejects. */
  leave(): Promise<void>;
  /**
   * The turn is over: what it left open ends, and nothing more is begun. Never throws.
   * @param isPaused the task waits for its user: sub-tasks work on, for the next turn to go on with
   */
  end(isPaused: boolean): void;
}

/** The seam to the client, which nothing below the server knows. */
export interface OutgoingCalls {
  /** What a turn calls others with; asked for once for each turn that does. */
  of(turn: CallingTurn): TurnCalls;
  /**
   * Cancels the other agent's task of a mark, which is of no use to anyone. Where the mark tells of a message alone, the task is looked for.
   * Resolves with the other agent's answer, and never rejects.
   */
  leave(mark: RelayMark): Promise<void>;
}
