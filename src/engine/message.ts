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
  message.parts = parts.map(partOf);
  checkDepth(metadata);
  if (metadata !== undefined) message.metadata = metadata;
  if (extensions !== undefined) message.extensions = [...extensions];
  return message;
}

/** The artifact of an event, under the id that the engine found for it. */
export function artifactOf(input: ArtifactInput, artifactId: string): Artifact {
  const artifact = create(ArtifactSchema);
  artifact.artifactId = artifactId;
  artifact.name = input.name ?? "";
  artifact.description = input.description ?? "";
  artifact.parts = [
    ...(input.parts ?? []),
    ...(input.text === undefined ? [] : [{ text: input.text }]),
    ...(input.data === undefined ? [] : [{ data: input.data }]),
  ].map(partOf);
  checkDepth(input.metadata);
  if (input.metadata !== undefined) artifact.metadata = input.metadata;
  if (input.extensions !== undefined) artifact.extensions = [...input.extensions];
  return artifact;
}

function contentOf(content: Content): MessageContent {
  if (typeof content === "string") return { parts: [{ text: content }] };
  return "parts" in content ? content : { parts: content };
}

function partOf(input: PartInput): Part {
  const part = create(PartSchema);
  part.content = partContent(input);
  if (input.mediaType !== undefined) part.mediaType = input.mediaType;
  if (input.filename !== undefined) part.filename = input.filename;
  checkDepth(input.metadata);
  if (input.metadata !== undefined) part.metadata = input.metadata;
  return part;
}

/** Levels of nesting that fit into a stored entry: decoding stops at 100 messages, and a level of JSON takes two. */
const maxDepth = 40;

/** Refuses what could be stored but not be read again. */
function checkDepth(value: JsonValue | undefined, depth = 0): void {
  if (typeof value !== "object" || value === null) return;
  if (depth >= maxDepth) throw new InvalidAgentEvent(`data and metadata are nested at most ${maxDepth} levels deep`);
  for (const inner of Object.values(value)) checkDepth(inner, depth + 1);
}

/** An agent yielded something that the protocol has no place for; the text is safe to show. */
export class InvalidAgentEvent extends Error {
  override name = "InvalidAgentEvent";
}

function partContent(input: PartInput): Part["content"] {
  if ("text" in input) return { case: "text", value: input.text };
  if ("raw" in input) return { case: "raw", value: input.raw };
  if ("url" in input) return { case: "url", value: input.url };
  checkDepth(input.data);
  return { case: "data", value: fromJson(ValueSchema, input.data) };
}

/** Text parts of a message, joined by line feeds. */
export function textOf(message: Message): string {
  const texts = message.parts.flatMap((part) => (part.content.case === "text" ? [part.content.value] : []));
  return texts.join("\n");
}

/** Data parts of a message. */
export function dataOf(message: Message): JsonValue[] {
  return message.parts.flatMap((part) =>
    part.content.case === "data" ? [toJson(ValueSchema, part.content.value)] : [],
  );
}
