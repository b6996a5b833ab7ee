import { defined } from "../../core/members.js";
import { ArrayWriter } from "./array-writer.js";

export function texts(values: readonly string[]): Buffer {
  return one((writer) => writer.texts(values.length, (index) => values[index]));
}

export function bigints(values: readonly number[]): Buffer {
  return one((writer) => writer.bigints(values.length, (index) => values[index]));
}

export function smallints(values: readonly number[]): Buffer {
  return one((writer) => writer.smallints(values.length, (index) => values[index]));
}

function one(write: (writer: ArrayWriter) => Buffer | null): Buffer {
  return defined(write(new ArrayWriter(256)) ?? undefined);
}
