import { onTestFinished } from "vitest";

/** Values of the source, of the constants that tests have changed. */
const originals = new Map<object, object>();

function change<T extends object>(constants: T, values: { readonly [K in keyof T]?: number }): void {
  if (!originals.has(constants)) originals.set(constants, { ...constants });
  Object.assign(constants, values);
}

/** Gives constants of a source file other values for a whole file of tests; `setup.ts` restores them at its end. */
export function setConstantsOfFile<T extends object>(constants: T, values: { readonly [K in keyof T]?: number }): void {
  change(constants, values);
}

/**
 * Changes constants of a source file until the end of the test, because the real values are minutes or megabytes. After
 * it they have the values of the test file again.
 */
export function setConstants<T extends object>(constants: T, values: { readonly [K in keyof T]?: number }): void {
  const before = { ...constants };
  change(constants, values);
  onTestFinished(() => void Object.assign(constants, before));
}

/** Gives all constants the values of the source. */
export function restoreConstants(): void {
  for (const [constants, original] of originals) Object.assign(constants, original);
}
