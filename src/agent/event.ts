import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { PartInput } from "../task/part-input.js";

export type { PartInput } from "../task/part-input.js";

/** Content of a message: its text alone, its parts, or parts with more around them. */
export type Content = string | readonly PartInput[] | MessageContent;

/** Content of a message with all that an agent may say about it. */
export interface MessageContent {
  readonly parts: readonly PartInput[];
  readonly metadata?: JsonObject;
  /** URIs of extensions that contributed to the message (specification 4.6.2). */
  readonly extensions?: readonly string[];
}

/** A new status of the task (specification 4.1.2), as `working()` and its kind make it. */
export interface StatusEvent {
  readonly kind: "status";
  readonly state: TaskState;
  readonly content: Content | undefined;
}

/** An artifact or a piece of one, as `artifact()` makes it. */
export interface ArtifactEvent extends ArtifactInput {
  readonly kind: "artifact";
}

/** The one answer of an agent that makes no task (specification 3.1.1), as `reply()` makes it. */
export interface ReplyEvent {
  readonly kind: "reply";
  readonly content: Content;
}

/** What an agent may yield. */
export type AgentEvent = StatusEvent | ArtifactEvent | ReplyEvent;

/** An artifact or a piece of one (specification 4.1.7, 4.2.2). At least one part, as `text`, `data` or `parts`. */
export interface ArtifactInput {
  /**
   * Id within the task. Left out: with `append`, the newest artifact of the same name; else a new one.
   */
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  readonly text?: string;
  readonly data?: JsonValue;
  readonly parts?: readonly PartInput[];
  /** Adds the parts to an artifact that is there; the first piece of a new artifact begins it. */
  readonly append?: boolean;
  /** Marks the last piece. */
  readonly lastChunk?: boolean;
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
}

const status =
  (state: TaskState) =>
  (content?: Content): StatusEvent => ({ kind: "status", state, content });

/** The task is being worked on; the content tells how far it is. */
export const working: (content?: Content) => StatusEvent = status(TaskState.WORKING);
/**
 * The agent needs more from the client: a message to the task goes on with it, in a turn of its own (specification 3.4.3). Return
 * after it: what is yielded behind it goes on without the answer.
 */
export const inputRequired: (content?: Content) => StatusEvent = status(TaskState.INPUT_REQUIRED);
/** The agent needs more authorization: the content explains which (specification 7.6.1). */
export const authRequired: (content?: Content) => StatusEvent = status(TaskState.AUTH_REQUIRED);
/** The task is done. Results belong into artifacts (specification 3.7). */
export const completed: (content?: Content) => StatusEvent = status(TaskState.COMPLETED);
/** The task failed; the content tells the client why. */
export const failed: (content?: Content) => StatusEvent = status(TaskState.FAILED);
/** The agent declines the task; the content tells why. */
export const rejected: (content?: Content) => StatusEvent = status(TaskState.REJECTED);
/** The task was canceled: for an agent that stops by itself when its signal fires. */
export const canceled: (content?: Content) => StatusEvent = status(TaskState.CANCELED);

/** A result, or a piece of one. */
export function artifact(input: ArtifactInput): ArtifactEvent {
  return { kind: "artifact", ...input };
}

/** The direct answer of an agent that needs no task. */
export function reply(content: Content): ReplyEvent {
  return { kind: "reply", content };
}
