import type { JsonValue } from "@bufbuild/protobuf";

/** Parses a text of others, which may be anything; undefined if it is not JSON. */
export function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
