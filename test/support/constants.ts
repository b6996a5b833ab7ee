import { onTestFinished } from "vitest";

/** Gives constants of a source file other values for a whole file of tests, each of which has modules of its own. */
export function setConstantsOfFile<T extends object>(constants: T, values: { readonly [K in keyof T]?: number }): void {
  Object.assign(constants, values);
}

const originals = new Map<object, object>();

/** Gives constants of a source file other values until the end of the test: the real ones are minutes or megabytes. */
export function setConstants<T extends object>(constants: T, values: { readonly [K in keyof T]?: number }): void {
  const original = originals.get(constants) ?? { ...constants };
  originals.set(constants, original);
  Object.assign(constants, values);
  onTestFinished(() => void Object.assign(constants, original));
}
