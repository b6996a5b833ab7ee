import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { PartInput } from "../task/message-input.js";
import type { PlainFile } from "../task/plain.js";
import { type FormRequest, formContent } from "./form-part.js";

export type { PartInput } from "../task/message-input.js";

/** Content of a message: a text, parts, or parts with more fields. */
export type Content = string | readonly PartInput[] | MessageContent;

/** Content of a message with all fields that an agent may set. */
export interface MessageContent {
  readonly parts: readonly PartInput[];
  readonly metadata?: JsonObject;
  /** URIs of extensions that contributed to the message (specification 4.6.2). */
  readonly extensions?: readonly string[];
}

/** Event with a new status of the task (specification 4.1.2), as `working()` and similar functions create it. */
export interface StatusEvent {
  readonly kind: "status";
  readonly state: TaskState;
  readonly content: Content | undefined;
  /** True if the turn ends with this question. */
  readonly [endsTurn]?: true;
}

/** Key of a question that ends its turn: a symbol, so that copies of the event keep it. */
export const endsTurn: unique symbol = Symbol("ends turn");

/** Event with an artifact or a chunk of one, as `artifact()` creates it. */
export interface ArtifactEvent extends ArtifactInput {
  readonly kind: "artifact";
}

/** Event with a direct answer (specification 3.1.1), as `reply()` creates it. */
export interface ReplyEvent {
  readonly kind: "reply";
  readonly content: Content;
}

/** Event with metadata of the task, as `metadata()` creates it. */
export interface MetadataEvent {
  readonly kind: "metadata";
  readonly metadata: JsonObject;
}

/** An event that an agent may yield. */
export type AgentEvent = StatusEvent | ArtifactEvent | MetadataEvent | ReplyEvent;

/** True if a value looks like an event; authors without a type checker may yield anything. */
export function isEvent(value: unknown): value is AgentEvent {
  if (typeof value !== "object" || value === null || !("kind" in value)) return false;
  const { kind } = value;
  return kind === "artifact" || kind === "status" || kind === "metadata" || kind === "reply";
}

/**
 * An artifact or a chunk of one (specification 4.1.7, 4.2.2). At least one part, as `text`, `data`, `file` or `parts`.
 */
export interface ArtifactInput {
  /** Id within the task. Default: with `append`, that of the newest artifact of the same name; otherwise a new one. */
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  readonly text?: string;
  readonly data?: JsonValue;
  readonly file?: PlainFile;
  readonly parts?: readonly PartInput[];
  /** Appends the parts to an existing artifact; the first chunk of a new artifact creates it. */
  readonly append?: boolean;
  /** Marks the last chunk. */
  readonly lastChunk?: boolean;
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
}

const status =
  (state: TaskState) =>
  (content?: Content): StatusEvent => ({ kind: "status", state, content });

/** Event: the agent works on the task; the content reports progress. */
export const working: (content?: Content) => StatusEvent = status(TaskState.WORKING);
/**
 * Event: the agent asks the client a question, with a form if the content has a schema. The client's next message to the
 * task starts the next turn (specification 3.4.3). Return after it: code after it continues without the answer.
 * `turn.form` also checks the answer.
 *
 * @throws TypeError for a form whose schema has no JSON Schema
 */
export function inputRequired(content?: Content | FormRequest): StatusEvent {
  const isForm = typeof content === "object" && content !== null && "form" in content;
  return { kind: "status", state: TaskState.INPUT_REQUIRED, content: isForm ? formContent(content) : content };
}
/** Event: the agent needs authorization, which the content explains (specification 7.6.1). */
export const authRequired: (content?: Content) => StatusEvent = status(TaskState.AUTH_REQUIRED);
/** Event: the task is completed. Results belong in artifacts (specification 3.7). */
export const completed: (content?: Content) => StatusEvent = status(TaskState.COMPLETED);
/** Event: the task failed, for the reason that the content explains to the client. */
export const failed: (content?: Content) => StatusEvent = status(TaskState.FAILED);
/** Event: the agent declines the task, for the reason in the content. */
export const rejected: (content?: Content) => StatusEvent = status(TaskState.REJECTED);
/** Event: the task was canceled, for an agent that stops when its signal fires. */
export const canceled: (content?: Content) => StatusEvent = status(TaskState.CANCELED);

/** Event: a result of the task, or a chunk of one. */
export function artifact(input: ArtifactInput): ArtifactEvent {
  return { kind: "artifact", ...input };
}

/**
 * Event: merges members into the task's metadata, which its clients see; each replaces an earlier one of the same name.
 * Clients receive it as a status of the present state with that metadata (specification 4.1.1, 4.2.1).
 */
export function metadata(members: JsonObject): MetadataEvent {
  return { kind: "metadata", metadata: members };
}

/** Event: a direct reply without a task. */
export function reply(content: Content): ReplyEvent {
  return { kind: "reply", content };
}
