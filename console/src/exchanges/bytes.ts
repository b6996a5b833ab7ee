import type { JsonValue } from "@bufbuild/protobuf";

const decoder = new TextDecoder();

export const decodeBody = (bytes: Uint8Array): string => decoder.decode(bytes);

/** Parses JSON; undefined if it is none. */
export function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Returns JSON on several lines, or the text as it is. */
export function pretty(text: string): string {
  const value = parsed(text);
  if (value === undefined) return text;
  try {
    return JSON.stringify(value, undefined, 2);
  } catch {
    // Nested too deep for the stack.
    return text;
  }
}

/** Bytes of a line of `hexOf`, and most that are shown. */
const LINE = 16;
const MAX = 2_048;

/** Returns bytes as people read them: their place, in hexadecimal, and their characters. */
export function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, MAX); at += LINE) {
    const part = [...bytes.subarray(at, at + LINE)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(LINE * 3)} ${text}`);
  }
  if (bytes.length > MAX) lines.push("…");
  return lines.join("\n");
}
