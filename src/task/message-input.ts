import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isRecord, membersOf } from "../core/members.js";
import type { PlainFile } from "./plain.js";

/**
 * One part of a message or artifact (specification 4.1.6). `mediaType` is a media type such as `image/png`. A `file`
 * has `bytes` or a `url`; `raw` and `url` are the same with the file's name and media type in the part.
 */
export type PartInput = {
  readonly mediaType?: string;
  readonly filename?: string;
  readonly metadata?: JsonObject;
} & (
  | { readonly text: string }
  | { readonly data: JsonValue }
  | { readonly raw: Uint8Array }
  | { readonly url: string }
  | { readonly file: PlainFile }
);

/** Converts a part with a `file` to one with its bytes or its URL. Returns anything else unchanged. */
export function withoutFile(part: PartInput): PartInput {
  const { file } = membersOf(part);
  if (!isRecord(file)) return part;
  const { filename, metadata } = part;
  const { bytes, url, name = filename, mediaType = part.mediaType } = file as PlainFile;
  const more = {
    ...(name !== undefined && { filename: name }),
    ...(mediaType !== undefined && { mediaType }),
    ...(metadata !== undefined && { metadata }),
  };
  if (bytes !== undefined) return { raw: bytes, ...more };
  return url === undefined ? part : { url, ...more };
}

/** A message: a text, parts, parts with more fields, or a protobuf message. */
export type MessageInput = string | readonly PartInput[] | MessageFields | Message;

/** A message with all fields that a caller may set (specification 4.1.4). */
export interface MessageFields {
  readonly parts: string | readonly PartInput[];
  /** Conversation of the message. Default: that of the task, or a new one. */
  readonly contextId?: string;
  /** Task that the message continues. Default: a new one. */
  readonly taskId?: string;
  readonly referenceTaskIds?: readonly string[];
  readonly metadata?: JsonObject;
  /** URIs of extensions that contributed to the message (specification 4.6.2). */
  readonly extensions?: readonly string[];
  /** Default: a new one. */
  readonly messageId?: string;
}
