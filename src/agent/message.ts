import { create } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { newId } from "../core/ids.js";
import { withoutFile } from "../task/message-input.js";
import {
  checkedBytes,
  checkedList,
  checkedObject,
  checkedText,
  checkedTexts,
  checkedValue,
  InvalidAgentEvent,
} from "./checked-copies.js";
import type { ArtifactInput, Content, MessageContent, PartInput } from "./event.js";

/** Context and task of an agent's message. */
export interface MessageContext {
  readonly contextId: string;
  /** Empty for a direct message. */
  readonly taskId: string;
}

/** Converts an agent's content to a Message with a new id (specification 4.1.4). */
export function agentMessage(content: Content, place: MessageContext): Message {
  const { parts, metadata, extensions } = messageContent(content);
  const message = create(MessageSchema);
  message.messageId = newId();
  message.contextId = place.contextId;
  message.taskId = place.taskId;
  message.role = Role.AGENT;
  message.parts = checkedList("parts", parts).map(checkedPart);
  if (metadata !== undefined) message.metadata = checkedObject("metadata", metadata);
  if (extensions !== undefined) message.extensions = checkedTexts("extensions", extensions);
  return message;
}

/** Converts an event to its artifact, under the id that the engine assigned. */
export function artifactOf(input: ArtifactInput, artifactId: string): Artifact {
  const artifact = create(ArtifactSchema);
  artifact.artifactId = checkedText("id", artifactId);
  artifact.name = checkedText("name", input.name ?? "");
  artifact.description = checkedText("description", input.description ?? "");
  artifact.parts = [
    ...checkedList("parts", input.parts ?? []),
    ...(input.text === undefined ? [] : [{ text: input.text }]),
    ...(input.data === undefined ? [] : [{ data: input.data }]),
    ...(input.file === undefined ? [] : [{ file: input.file }]),
  ].map(checkedPart);
  if (input.metadata !== undefined) artifact.metadata = checkedObject("metadata", input.metadata);
  if (input.extensions !== undefined) artifact.extensions = checkedTexts("extensions", input.extensions);
  return artifact;
}

function messageContent(content: Content): MessageContent {
  if (typeof content === "string") return { parts: [{ text: content }] };
  if (Array.isArray(content)) return { parts: content };
  if (typeof content === "object" && content !== null && "parts" in content) return content;
  throw new InvalidAgentEvent("a message is a text, a list of parts, or an object with them as parts");
}

function checkedPart(given: PartInput): Part {
  const input = withoutFile(given);
  const part = create(PartSchema);
  part.content = partContent(input);
  if (input.mediaType !== undefined) part.mediaType = checkedText("mediaType", input.mediaType);
  if (input.filename !== undefined) part.filename = checkedText("filename", input.filename);
  if (input.metadata !== undefined) part.metadata = checkedObject("metadata", input.metadata);
  return part;
}

function partContent(input: PartInput): Part["content"] {
  if (typeof input !== "object" || input === null) throw new InvalidAgentEvent(partContents);
  if ("text" in input) return { case: "text", value: checkedText("text", input.text) };
  if ("raw" in input) return { case: "raw", value: checkedBytes("raw", input.raw) };
  if ("url" in input) return { case: "url", value: checkedText("url", input.url) };
  if ("data" in input) return { case: "data", value: checkedValue("data", input.data) };
  throw new InvalidAgentEvent(partContents);
}

const partContents = "a part is an object with text, data, file (with bytes or url), raw (the bytes of a file) or url";
