import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { cases } from "./cases.js";
import { runCase } from "./run.js";
import { Worlds } from "./world.js";

/**
 * The ids of cases that do not pass yet, one a line. The list only shrinks: a case on it that passes fails, and so does one that is not
 * on it and fails. With `CASES=shrink` in the environment those that pass are taken off.
 */
const file = new URL("./pending.txt", import.meta.url);
const pending = new Set(
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== ""),
);

const worlds = new Worlds();
const passing = new Set<string>();
afterAll(async () => {
  await worlds.close();
  if (process.env.CASES !== "shrink") return;
  writeFileSync(
    file,
    [...pending]
      .filter((id) => !passing.has(id))
      .map((id) => `${id}\n`)
      .join(""),
  );
});

describe.each(["0.3", "0.2", "0.1", "any"] as const)("callers of version %s", (version) => {
  for (const one of cases.filter((each) => each.version === version)) {
    const run = async (): Promise<void> => runCase(one, await worlds.get(one.server));
    const title = `${one.id} ${one.name}`;
    if (!pending.has(one.id)) {
      it(title, run, 60_000);
      continue;
    }
    it(`${title} (pending)`, async () => {
      const failure = await run().catch((error: unknown) => error);
      if (failure === undefined) passing.add(one.id);
      if (process.env.CASES !== "shrink") expect(failure, `${one.id} passes: take it off pending.txt`).toBeDefined();
    }, 60_000);
  }
});

it("every case has an id of its own, and what is pending is a case", () => {
  const ids = cases.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...pending].filter((id) => !ids.includes(id))).toEqual([]);
});
