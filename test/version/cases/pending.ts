import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";

/**
 * The ids of tests that do not pass yet, one a line of a file. The list only shrinks: a test on it that passes fails, and so does one
 * that is not on it and fails. With `CASES=shrink` in the environment those that pass are taken off.
 */
export class Pending {
  readonly #file: URL;
  readonly #isStrict: boolean;
  readonly #ids: Set<string>;
  readonly #known = new Set<string>();
  readonly #passing = new Set<string>();

  /** @param isStrict whether what passes has to be taken off at once */
  constructor(file: URL, isStrict = true) {
    this.#file = file;
    this.#isStrict = isStrict;
    this.#ids = new Set(
      readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== ""),
    );
    afterAll(() => this.#shrink());
  }

  /** Declares a test, which has to fail while its id is on the list. */
  it(id: string, title: string, run: () => Promise<void>): void {
    this.#known.add(id);
    if (!this.#ids.has(id)) return it(title, run, 60_000);
    it(`${title} (pending)`, async () => {
      const failure = await run().catch((error: unknown) => error ?? "failed");
      if (failure === undefined) this.#passing.add(id);
      if (this.#isStrict && process.env.CASES !== "shrink")
        expect(failure, `it passes: take ${id} off the list`).toBeDefined();
    }, 60_000);
  }

  /** Ids on the list that no test has. */
  get unknown(): string[] {
    return [...this.#ids].filter((id) => !this.#known.has(id));
  }

  #shrink(): void {
    if (process.env.CASES !== "shrink") return;
    const left = [...this.#ids].filter((id) => !this.#passing.has(id));
    writeFileSync(this.#file, left.map((id) => `${id}\n`).join(""));
  }
}
