import { StoreError } from "../task-store.js";

/** Returns a column's value that is text by the schema. */
export function textIn(value: unknown): string {
  if (typeof value !== "string") throw new StoreError("failed", `A column holds ${typeof value}, not text.`);
  return value;
}

/** Returns a column's value that is a number by the schema. */
export function numberIn(value: unknown): number {
  if (typeof value !== "number") throw new StoreError("failed", `A column holds ${typeof value}, not a number.`);
  return value;
}
