import type { JsonValue, Message } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import type { Part, SendMessageRequest } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** Memory that a value of JSON takes beside its text, in bytes. */
export const VALUE_BYTES = 100;

/** Memory that a part takes beside its content, in bytes. */
const PART_BYTES = 3 * VALUE_BYTES;

/**
 * The memory that a request takes, in bytes, about: its texts and files, and `VALUE_BYTES` for each value. Only requests that carry a
 * message or metadata can be large.
 */
export function requestWeight(request: Message): number {
  const { message, metadata } = request as Partial<SendMessageRequest>;
  const weight = jsonWeight(metadata);
  if (message === undefined) return weight;
  const { parts, referenceTaskIds, extensions } = message;
  return (
    weight +
    jsonWeight(message.metadata) +
    parts.reduce((sum, part) => sum + partWeight(part), 0) +
    textsWeight(referenceTaskIds) +
    textsWeight(extensions)
  );
}

function partWeight({ content, metadata }: Part): number {
  const weight = PART_BYTES + jsonWeight(metadata);
  if (content.case === undefined) return weight;
  return weight + (content.case === "data" ? valueWeight(content.value) : content.value.length);
}

function textsWeight(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + VALUE_BYTES + text.length, 0);
}

function valueWeight({ kind }: Value): number {
  switch (kind.case) {
    case "stringValue":
      return VALUE_BYTES + kind.value.length;
    case "listValue":
      return kind.value.values.reduce((sum, value) => sum + valueWeight(value), VALUE_BYTES);
    case "structValue": {
      const { fields } = kind.value;
      let weight = VALUE_BYTES;
      for (const name in fields) weight += name.length + valueWeight(fields[name] as Value);
      return weight;
    }
    default:
      return VALUE_BYTES;
  }
}

function jsonWeight(json: JsonValue | undefined): number {
  if (typeof json === "string") return VALUE_BYTES + json.length;
  if (typeof json !== "object" || json === null) return json === undefined ? 0 : VALUE_BYTES;
  if (Array.isArray(json)) return json.reduce<number>((sum, value) => sum + jsonWeight(value), VALUE_BYTES);
  let weight = VALUE_BYTES;
  for (const name in json) weight += name.length + jsonWeight(json[name]);
  return weight;
}
