const all: (() => unknown)[] = [];

/**
 * Runs `clean` after each test, in any file. For modules that several files of tests import: a worker loads them once, so
 * that an `afterEach()` in them would be that of the first file alone.
 */
export function afterEachTest(clean: () => unknown): void {
  all.push(clean);
}

/** Cleans up after a test, the module that was loaded last first. `setup.ts` calls it. */
export async function cleanUp(): Promise<void> {
  for (const clean of all.toReversed()) await clean();
}
