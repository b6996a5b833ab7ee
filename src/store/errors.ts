import { StoreError, type StoreErrorKind } from "./task-store.js";

/** Converts any error of a database to a StoreError, with the original as its cause. */
export function storeErrorOf(
  thrown: unknown,
  doing: string,
  code: string,
  kindOf: (code: string) => StoreErrorKind,
): StoreError {
  if (thrown instanceof StoreError) return thrown;
  // Without `core/`: the writer thread loads this file, and has its own copy of every file that it loads.
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const detail = code === "" ? text : `${text} (${code})`;
  return new StoreError(kindOf(code), `${doing}: ${detail}`, { cause: thrown });
}
