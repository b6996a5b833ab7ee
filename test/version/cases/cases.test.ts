import { afterAll, describe, expect, it } from "vitest";
import { cases as listed } from "./cases.js";
import { runCase } from "./run.js";
import { workedExamples } from "./worked-examples.js";
import { Worlds } from "./world.js";

const cases = [...listed, ...workedExamples];

const worlds = new Worlds();
afterAll(() => worlds.close());

describe.each(["0.3", "0.2", "0.1", "any"] as const)("callers of version %s", (version) => {
  for (const one of cases.filter((each) => each.version === version)) {
    it(`${one.id} ${one.name}`, async () => runCase(one, await worlds.get(one.server)), 60_000);
  }
});

it("every case has an id of its own", () => {
  const ids = cases.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});
