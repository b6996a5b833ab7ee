import type { Message } from "@bufbuild/protobuf";
import { membersOf } from "../core/members.js";
import { setOwn } from "../wire/json-value.js";

/**
 * Copies a message of the protocol deeply. The library's `clone()` follows the message's descriptor and takes several
 * times as long. Messages of proto3 are plain objects, so no descriptor is needed.
 */
export function copyMessage<T extends Message>(message: T): T {
  return copyOf(message) as T;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) setOwn(copy, name, copyOf(membersOf(value)[name]));
  return copy;
}
