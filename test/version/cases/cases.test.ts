import { afterAll, describe, expect, it } from "vitest";
import { cases as listed } from "./cases.js";
import { Pending } from "./pending.js";
import { runCase } from "./run.js";
import { workedExamples } from "./worked-examples.js";
import { Worlds } from "./world.js";

const cases = [...listed, ...workedExamples];

const pending = new Pending(new URL("./pending.txt", import.meta.url));
const worlds = new Worlds();
afterAll(() => worlds.close());

describe.each(["0.3", "0.2", "0.1", "any"] as const)("callers of version %s", (version) => {
  for (const one of cases.filter((each) => each.version === version)) {
    pending.it(one.id, `${one.id} ${one.name}`, async () => runCase(one, await worlds.get(one.server)));
  }
});

it("every case has an id of its own, and what is pending is a case", () => {
  const ids = cases.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(pending.unknown).toEqual([]);
});
