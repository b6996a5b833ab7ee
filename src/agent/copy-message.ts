import { type Message, PartSchema, type Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { membersOf } from "../core/members.js";
import { newReadablePart, type ReadableMessage, type ReadableTask } from "../task/plain.js";
import { setOwn } from "../wire/json-value.js";

/**
 * Copies a message of the protocol deeply, with readable parts. The library's `clone()` follows the message's
 * descriptor and takes several times as long. Messages of proto3 are plain objects, so no descriptor is needed.
 */
export function copyMessage(message: Message): ReadableMessage;
export function copyMessage(task: Task): ReadableTask;
export function copyMessage(message: Message | Task): unknown {
  return readableCopy(message);
}

function readableCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map(readableCopy);
  const isPart = membersOf(value).$typeName === PartSchema.typeName;
  const copy = (isPart ? newReadablePart() : {}) as Record<string, unknown>;
  for (const name of Object.keys(value)) setOwn(copy, name, readableCopy(membersOf(value)[name]));
  return copy;
}
