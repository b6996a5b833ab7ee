import type { JsonValue } from "@bufbuild/protobuf";
import type { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { PlainPart, ReadableTask } from "../task/plain.js";

/** A page of a conversation. */
export interface ConversationPageOptions {
  /** Maximum number of items, from 1 to 1,000. Default 50. */
  readonly limit?: number;
  /** The `cursor` of an item: only older items. Default: the newest items. */
  readonly before?: string;
}

/**
 * One utterance of a conversation: a message of the user, a question of the agent, the message of a final status, or an
 * artifact with its present content.
 */
export interface ConversationMessage {
  readonly role: "user" | "agent";
  /** The content as plain values. */
  readonly parts: readonly PlainPart[];
  /** Its text parts: of a message joined by line feeds, of an artifact as they were streamed. */
  readonly text: string;
  /** Id of the task; empty for the message of a turn without a task. */
  readonly taskId: string;
  /** Time at which the server accepted it; of an artifact, its last change. */
  readonly time: Date;
  /** For `before`. Opaque. */
  readonly cursor: string;
  /** Id of the message; undefined for an artifact. */
  readonly messageId?: string;
  /** Id of the artifact. */
  readonly artifactId?: string;
  /** Name of the artifact, if it has one. */
  readonly name?: string;
  /** State of the task that a question or final message belongs to, such as INPUT_REQUIRED. */
  readonly state?: TaskState;
}

/** A task of a conversation. */
export interface ConversationTask {
  readonly taskId: string;
  readonly state: TaskState;
  /** Time of its status. */
  readonly time: Date;
  /** The task as stored: a copy. */
  readonly task: ReadableTask;
  /** For `before`. Opaque. */
  readonly cursor: string;
}

/**
 * A JSON document of the agent that all tasks of the conversation share, at most 256 KiB. It lives until the
 * conversation's last task is removed.
 *
 * Changes are stored together with the next event or step of the turn, or at its end, in the same transaction: after a
 * crash both exist, or neither. When another turn changed the state meanwhile, this turn's changes are applied again to
 * the newer state, so that no update is lost. A turn that runs again after a crash skips as many changes as it had
 * stored. A change in a step counts as made once the step is stored; among steps that run at the same time, one that had
 * not ended may make its change again. Await each call before the next event.
 */
export interface TurnConversationState {
  /** Returns the state with all changes of this turn, or undefined if the state does not exist. The value is a copy. */
  get<T = JsonValue>(): Promise<T | undefined>;
  /** Replaces the state by a JSON value. @throws RangeError if it is too large; TypeError if it is not JSON */
  set(value: unknown): Promise<void>;
  /**
   * Changes the state and returns it.
   * @param change returns the new state. It may modify its argument. It must be synchronous and without side effects,
   * because it runs again if another turn changed the state first; if it throws then, the turn fails.
   */
  update<T = JsonValue>(change: (before: T | undefined) => T): Promise<T>;
}

/**
 * The conversation that a turn belongs to: the tasks of its caller with the same `contextId` (specification 3.4.1),
 * under the same tenant.
 */
export interface TurnConversation {
  /**
   * Returns the utterances, oldest first: the user's messages, the agent's questions and final messages, and artifacts;
   * progress texts are left out. The message of this turn is the last one. Output of turns that still run is not
   * included. A page may have fewer items than requested if these are large; an empty one is the end.
   */
  messages(options?: ConversationPageOptions): Promise<ConversationMessage[]>;
  /** Returns the tasks, newest status first, including the one of this turn. Pages are as in `messages`. */
  tasks(options?: ConversationPageOptions): Promise<ConversationTask[]>;
  readonly state: TurnConversationState;
}
