import { create, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { invalid } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import { membersOf } from "../../core/members.js";
import { type MessageFields, type MessageInput, type PartInput, withoutFile } from "../../task/message-input.js";
import { jsonReader } from "../../wire/json-reader.js";
import type { SendOptions } from "./call-options.js";
import { checkRequest } from "./check.js";

const readData = jsonReader(ValueSchema);

/** Default context and task of a message. */
export interface MessagePlace {
  readonly contextId?: string | undefined;
  readonly taskId?: string | undefined;
}

/**
 * Converts a caller's input to a Message with the role `user`.
 * @param id the id of a message that names none: its idempotency key, so that a repeated send is the same request
 */
export function messageOf(input: MessageInput, place: MessagePlace = {}, id?: string): Message {
  if (isMessageInput(input)) return input;
  const fields: MessageFields = isFields(input) ? input : { parts: input };
  checkParts(input, fields.parts);
  const message = create(MessageSchema);
  message.messageId = fields.messageId ?? id ?? newId();
  message.contextId = fields.contextId ?? place.contextId ?? "";
  message.taskId = fields.taskId ?? place.taskId ?? "";
  message.role = Role.USER;
  message.parts = typeof fields.parts === "string" ? [partFrom({ text: fields.parts })] : fields.parts.map(partFrom);
  if (fields.metadata !== undefined) message.metadata = fields.metadata;
  if (fields.extensions !== undefined) message.extensions = copied(fields.extensions);
  if (fields.referenceTaskIds !== undefined) message.referenceTaskIds = copied(fields.referenceTaskIds);
  return message;
}

/** Copies a list. Any other value is left for `checkRequest` to reject. */
const copied = (list: readonly string[]): string[] => (Array.isArray(list) ? [...list] : (list as unknown as string[]));

/** Returns the request that sends a message. */
export function sendRequest(message: Message, options: SendOptions, returnImmediately: boolean): SendMessageRequest {
  const configuration = {
    returnImmediately,
    acceptedOutputModes: copied(options.acceptedOutputModes ?? []),
    ...(options.historyLength !== undefined && { historyLength: options.historyLength }),
    ...(options.pushNotification !== undefined && { taskPushNotificationConfig: options.pushNotification }),
  };
  checkRequest(SendMessageRequestSchema, { configuration });
  const request = create(SendMessageRequestSchema, { configuration });
  request.message = message;
  if (options.metadata !== undefined) request.metadata = options.metadata;
  return request;
}

function isMessageInput(input: MessageInput): input is Message {
  return typeof input === "object" && input !== null && "$typeName" in input;
}

function isFields(input: Exclude<MessageInput, Message>): input is MessageFields {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}

/** @throws A2AError INVALID_PARAMS for values of untyped callers that are not messages */
function checkParts(input: MessageInput, parts: MessageFields["parts"]): void {
  if (typeof parts === "string") return;
  if (!Array.isArray(parts)) {
    const field = typeof input === "object" && input !== null ? "parts" : "message";
    const description =
      "is neither a text nor a list of parts: a message is one of them, or an object with them as parts";
    throw invalid([{ field, description }]);
  }
  const index = parts.findIndex((part) => !hasContent(membersOf(withoutFile(part))));
  if (index < 0) return;
  throw invalid([
    { field: `parts[${index}]`, description: `has none of what parts have: ${contents.join(", ")}, file` },
  ]);
}

const contents = ["text", "data", "raw", "url"];

const hasContent = (part: object): boolean => contents.some((name) => name in part);

function partFrom(given: PartInput): Part {
  const input = withoutFile(given);
  const part = create(PartSchema);
  part.content = partContent(input);
  part.mediaType = input.mediaType ?? "";
  part.filename = input.filename ?? "";
  if (input.metadata !== undefined) part.metadata = input.metadata;
  return part;
}

function partContent(input: PartInput): Part["content"] {
  if ("text" in input) return { case: "text", value: input.text };
  if ("raw" in input) return { case: "raw", value: input.raw };
  if ("url" in input) return { case: "url", value: input.url };
  // `checkParts` has rejected all others.
  return { case: "data", value: readData((input as { readonly data: JsonValue }).data) };
}
