import type { JsonValue } from "@bufbuild/protobuf";
import type { Artifact, Message, Part } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Draft } from "../task/entry.js";

/** What an entry takes beside its content, in bytes. */
const baseBytes = 256;

/** About how many bytes of memory an entry takes before it is stored. Nothing is encoded for it. */
export function weightOf({ event }: Draft): number {
  switch (event.case) {
    case "artifact":
      return baseBytes + contentWeight(event.value.artifact);
    case "status":
      return baseBytes + contentWeight(event.value.status?.message);
    case "message":
      return baseBytes + contentWeight(event.value);
    default:
      return baseBytes;
  }
}

function contentWeight(content: Pick<Message | Artifact, "parts" | "metadata"> | undefined): number {
  if (content === undefined) return 0;
  let weight = content.metadata === undefined ? 0 : jsonWeight(content.metadata);
  for (const { content: piece, metadata } of content.parts) {
    weight += 32 + (metadata === undefined ? 0 : jsonWeight(metadata)) + pieceWeight(piece);
  }
  return weight;
}

function pieceWeight(piece: Part["content"]): number {
  if (piece.case === "data") return valueWeight(piece.value);
  return piece.case === undefined ? 0 : piece.value.length;
}

function jsonWeight(value: JsonValue): number {
  if (typeof value === "string") return 32 + value.length;
  if (typeof value !== "object" || value === null) return 16;
  let weight = 32;
  if (Array.isArray(value)) for (const inner of value) weight += jsonWeight(inner);
  else for (const name in value) weight += name.length + jsonWeight(value[name] ?? null);
  return weight;
}

type DataPart = Extract<Part["content"], { case: "data" }>["value"];

function valueWeight({ kind }: DataPart): number {
  switch (kind.case) {
    case "stringValue":
      return 32 + kind.value.length;
    case "listValue":
      return kind.value.values.reduce((sum, value) => sum + valueWeight(value), 32);
    case "structValue": {
      let weight = 32;
      for (const name in kind.value.fields) {
        const value = kind.value.fields[name];
        weight += name.length + (value === undefined ? 0 : valueWeight(value));
      }
      return weight;
    }
    default:
      return 32;
  }
}
