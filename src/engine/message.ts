import { create, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
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
import type { ArtifactInput, Content, MessageContent, PartInput } from "./event.js";
import { listOf, ownBytes, ownJson, ownObject, ownText, ownTexts } from "./own-values.js";

/** Where an agent's message belongs. */
export interface Place {
  readonly contextId: string;
  /** Empty for a direct message. */
  readonly taskId: string;
}

/** An agent's content as a Message with a new id (specification 4.1.4). */
export function agentMessage(content: Content, place: Place): Message {
  const { parts, metadata, extensions } = contentOf(content);
  const message = create(MessageSchema);
  message.messageId = newId();
  message.contextId = place.contextId;
  message.taskId = place.taskId;
  message.role = Role.AGENT;
  message.parts = listOf("parts", parts).map(partOf);
  if (metadata !== undefined) message.metadata = ownObject("metadata", metadata);
  if (extensions !== undefined) message.extensions = ownTexts("extensions", extensions);
  return message;
}

/** The artifact of an event, under the id that the engine found for it. */
export function artifactOf(input: ArtifactInput, artifactId: string): Artifact {
  const artifact = create(ArtifactSchema);
  artifact.artifactId = ownText("id", artifactId);
  artifact.name = ownText("name", input.name ?? "");
  artifact.description = ownText("description", input.description ?? "");
  artifact.parts = [
    ...listOf("parts", input.parts ?? []),
    ...(input.text === undefined ? [] : [{ text: input.text }]),
    ...(input.data === undefined ? [] : [{ data: input.data }]),
  ].map(partOf);
  if (input.metadata !== undefined) artifact.metadata = ownObject("metadata", input.metadata);
  if (input.extensions !== undefined) artifact.extensions = ownTexts("extensions", input.extensions);
  return artifact;
}

function contentOf(content: Content): MessageContent {
  if (typeof content === "string") return { parts: [{ text: content }] };
  return "parts" in content ? content : { parts: content };
}

function partOf(input: PartInput): Part {
  const part = create(PartSchema);
  part.content = partContent(input);
  if (input.mediaType !== undefined) part.mediaType = ownText("mediaType", input.mediaType);
  if (input.filename !== undefined) part.filename = ownText("filename", input.filename);
  if (input.metadata !== undefined) part.metadata = ownObject("metadata", input.metadata);
  return part;
}

function partContent(input: PartInput): Part["content"] {
  if ("text" in input) return { case: "text", value: ownText("text", input.text) };
  if ("raw" in input) return { case: "raw", value: ownBytes("raw", input.raw) };
  if ("url" in input) return { case: "url", value: ownText("url", input.url) };
  return { case: "data", value: fromJson(ValueSchema, ownJson("data", input.data)) };
}

/** Text parts of a message, joined by line feeds. */
export function textOf(message: Message): string {
  let text: string | undefined;
  for (const { content } of message.parts) {
    if (content.case === "text") text = text === undefined ? content.value : `${text}\n${content.value}`;
  }
  return text ?? "";
}

/** Data parts of a message. */
export function dataOf(message: Message): JsonValue[] {
  return message.parts.flatMap((part) =>
    part.content.case === "data" ? [toJson(ValueSchema, part.content.value)] : [],
  );
}
