import type { JsonObject } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { type A2AService, type AgentCard, type Message, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogCause } from "../core/log.js";
import type { Answer, Update } from "../task/answer.js";
import type { MessageInput } from "../task/message-input.js";
import type { ReadableMessage, ReadableTask } from "../task/plain.js";
import type { TracedSpan } from "../telemetry/tracer.js";
import type { AgentEvent, Content } from "./event.js";
import type { TurnRequest } from "./turn-request.js";

/** Options of `turn.call`. */
export interface TurnCallOptions {
  /** Timeout of a call with one answer, in milliseconds. Default `limits.remoteTimeoutMs`. */
  readonly timeoutMs?: number;
}

/** Options of one call of another agent. */
export interface RemoteOptions {
  /** Ends the call, as the turn's own signal does. */
  readonly signal?: AbortSignal;
  /** Timeout of the whole call, in milliseconds. */
  readonly timeoutMs?: number;
  readonly headers?: Headers | Readonly<Record<string, string>>;
}

/**
 * A client of another agent for one turn, with all methods of the protocol and `send`, `stream` and `follow`. Its calls
 * carry the turn's trace and, if the server's `remoteAgents` says so, the caller's token. They end when the turn's
 * signal fires, and streams with the turn. In a turn that replies directly they have its caller's deadline. Every
 * method rejects with an A2AError.
 */
export interface RemoteAgent extends Client<typeof A2AService> {
  readonly card: AgentCard;
  /** Sends a message and waits until its task is finished or waits for its client. */
  send(message: MessageInput, options?: RemoteOptions): Promise<Answer>;
  /**
   * Sends a message and yields its results. An interrupted stream resumes automatically. Leaving the loop ends only the
   * call.
   */
  stream(message: MessageInput, options?: RemoteOptions): AsyncIterable<Update>;
  /** Follows a task until it is finished or waits for its client. */
  follow(taskId: string, options?: RemoteOptions): AsyncIterable<Update>;
}

/** Message for another agent: the author's content, or a received message. */
export type DelegatedContent = Content | Message;

/** Options of `turn.delegate`. */
export interface DelegateOptions {
  /**
   * Identifies a delegation within its turn, also after a crash. Default: its number in the order of the calls, which
   * has to be the same when the turn is rerun; set names if it is not. At most 65,536 characters.
   */
  readonly name?: string;
  /**
   * Context of a new sub-task. Default: that of the conversation's last sub-task at this agent, so that it remembers
   * the conversation; for the first one, or if the agent rejects the context, a new one that it creates.
   */
  readonly contextId?: string;
  /** Media types that the other agent may answer with. Default: those of the turn's request. */
  readonly acceptedOutputModes?: readonly string[];
  /** Metadata of the requests that send the sub-task's messages. Default: none. */
  readonly metadata?: JsonObject;
  /** `hide`: the sub-task's artifacts are in the result, but not relayed to the task. Default `relay`. */
  readonly artifacts?: "hide" | "relay";
  /**
   * Answer to a question of the other agent (INPUT_REQUIRED) after its user has answered. Default: the message of the
   * answering turn, unchanged.
   */
  readonly answer?: DelegatedContent;
}

/** Result of a sub-task. */
export interface SubTask {
  /** The other agent's name in the call. */
  readonly agent: string;
  /** The finished sub-task, with history and artifacts. Undefined if the agent replied directly. */
  readonly task: ReadableTask | undefined;
  /** The message of an agent that replied directly. */
  readonly message: ReadableMessage | undefined;
  /** The final state: COMPLETED, FAILED, CANCELED or REJECTED; COMPLETED for a direct reply. */
  readonly state: TaskState;
  /** Text of its artifacts, or of its final message if it has none. */
  readonly text: string;
}

/** Origin of an event in another agent's task. Stored with the event (`Relay` in proto/parley/log/v1). */
export interface RelayCheckpoint {
  readonly delegation: string;
  readonly origin: number;
  readonly turn: number;
  readonly agent: string;
  readonly taskId: string;
  /** Context of the other agent's task; empty if unknown. */
  readonly contextId: string;
  readonly generation: number;
  readonly messageId: string;
  readonly state: TaskState;
}

/** Tells whether a checkpoint only announces a message to another agent. The message's id is the checkpoint's. */
export function isSend({ taskId, state }: RelayCheckpoint): boolean {
  return taskId === "" && state === TaskState.SUBMITTED;
}

/** Key of an event's checkpoint: a symbol, so that copies of the event keep it and authors cannot create one. */
export const relayCheckpoint: unique symbol = Symbol("relay");

/** A relayed event. */
export interface RelayedTask {
  readonly [relayCheckpoint]?: RelayCheckpoint;
}

/** The stored part of a relayed event, besides its artifact. */
export interface RelayedEvent {
  readonly checkpoint: RelayCheckpoint;
  /** The message of a status. */
  readonly message: Message | undefined;
}

/** The part of a turn that calls of other agents need. */
export interface CallingTurn {
  /** Its trace is that of the turn's span, if spans are created. */
  readonly request: TurnRequest;
  /** The span of the turn, if spans are created. */
  readonly span?: TracedSpan | undefined;
  readonly signal: AbortSignal;
  /** Deadline of a direct reply's caller, in milliseconds since 1970; Infinity for tasks. */
  readonly deadline: number;
  /** The task at the start of the turn. */
  readonly task: Task | undefined;
  /**
   * Returns the events relayed in earlier attempts of this turn, and in the turns whose question it answers, in order.
   */
  relayed(): Promise<readonly RelayedEvent[]>;
  /**
   * Returns the context in which an agent worked for the newest earlier task of this conversation that called it: for
   * the delegation of the same name, or else last. Undefined if it is not known.
   */
  contextBefore(agent: string, delegation: string): Promise<string | undefined>;
  /** True for an error of the task store that ends the execution, which continues once the store works. */
  isOutage(error: unknown): boolean;
  /** Resolves when a question may end the turn: work that would be repeated in the next turn comes first. */
  mayAsk(): Promise<void>;
  /**
   * Ends the turn with a question of another agent, whether or not the author reads that delegation. Resolves once the
   * turn ends the agent at the question.
   */
  ask(question: AgentEvent): Promise<void>;
  /** Stores that a message which starts a sub-task is about to be sent, so that the sub-task is found after a crash. */
  sending(checkpoint: RelayCheckpoint): Promise<void>;
  /** Returns a message of the task, by its position in the log. */
  messageAt(position: number): Promise<Message>;
}

/** Calls of other agents in one turn. */
export interface TurnCalls {
  call(agent: string, options?: TurnCallOptions): Promise<RemoteAgent>;
  delegate(
    agent: string,
    message: DelegatedContent | undefined,
    options?: DelegateOptions,
  ): AsyncGenerator<AgentEvent, SubTask, undefined>;
  /** Tells whether the turn handles a sub-task itself: it has started, continued or ended it. */
  sees(checkpoint: RelayCheckpoint): boolean;
  /**
   * Cancels the turn's open sub-tasks because the task ends. Resolves after the other agents' answers, and never
   * rejects.
   */
  cancelSubTasks(): Promise<void>;
  /**
   * Ends the turn: its open calls end, and nothing more is started. Never throws.
   * @param isPaused true if the task waits for its user: sub-tasks continue, for the next turn
   */
  end(isPaused: boolean): void;
}

/** The task whose sub-task is canceled, and the request of its turn if a turn cancels it. */
export interface ParentTask extends LogCause {
  readonly taskId: string;
  readonly tenant: string;
}

/** The interface to the client, on which no layer below the server depends. */
export interface OutgoingCalls {
  /** Names of the agents, which may change. */
  readonly names: readonly string[];
  /** Returns the calls of a turn. Called once for each turn that needs them. */
  of(turn: CallingTurn): TurnCalls;
  /**
   * Cancels another agent's unneeded task. If the checkpoint only announces a message, the task is searched for. Resolves
   * after the other agent's answer, and never rejects.
   */
  cancelSubTask(checkpoint: RelayCheckpoint, task: ParentTask): Promise<void>;
}
