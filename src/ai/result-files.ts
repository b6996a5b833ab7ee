import type { JsonValue } from "@bufbuild/protobuf";
import { fromBase64 } from "../core/bytes.js";
import { isRecord } from "../core/members.js";
import type { PlainFile } from "../task/plain.js";
import { labelOf } from "./talk-file.js";

/** The result of a tool without its files. */
export interface SplitResult {
  readonly files: readonly PlainFile[];
  /** The result, with a text that mentions it in place of each file. */
  readonly rest: JsonValue;
}

/** Maximum depth of values that are searched for files. */
const DEPTH = 6;

/**
 * Takes the files out of a tool's result: objects with `bytes`, objects with a `url` below the name `file` or `files`,
 * files that the AI SDK generated, and images and audio of MCP.
 *
 * @throws if the rest is not JSON
 */
export function splitFiles(result: unknown): SplitResult {
  const files: PlainFile[] = [];
  const walk = (value: unknown, name: string, depth: number): unknown => {
    const file = plainFile(value, name);
    if (file !== undefined) {
      files.push(file);
      return labelOf(file);
    }
    if (depth === 0 || !isLiteral(value)) return value;
    if (Array.isArray(value)) return value.map((each) => walk(each, name, depth - 1));
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each, key, depth - 1)]));
  };
  const rest: unknown = walk(result, "", DEPTH);
  return { files, rest: rest === undefined ? null : (JSON.parse(JSON.stringify(rest)) as JsonValue) };
}

/** True for lists and literal objects; others, such as dates, have a JSON form of their own. */
function isLiteral(value: unknown): value is Record<string, unknown> {
  if (Array.isArray(value)) return true;
  return typeof value === "object" && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));
}

function plainFile(value: unknown, name: string): PlainFile | undefined {
  if (!isRecord(value) || Array.isArray(value)) return undefined;
  const { bytes, uint8Array, url, type, data, mimeType } = value;
  const about = {
    ...(typeof value.name === "string" ? { name: value.name } : {}),
    ...(typeof value.mediaType === "string" ? { mediaType: value.mediaType } : {}),
  };
  if (bytes instanceof Uint8Array) return { bytes, ...about };
  if (uint8Array instanceof Uint8Array) return { bytes: uint8Array, ...about };
  if (typeof url === "string" && /^files?$/.test(name)) return { url, ...about };
  const isMedia = type === "image" || type === "audio";
  if (!isMedia || typeof data !== "string" || typeof mimeType !== "string") return undefined;
  return { bytes: fromBase64(data), mediaType: mimeType };
}
