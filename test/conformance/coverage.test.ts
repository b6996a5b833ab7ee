import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { binding, coverage, isShown, namedIds } from "./coverage.js";
import { elsewhere, reasons, requirements } from "./requirements.js";

const known = new Set(requirements.map(([id]) => id));
const root = new URL("../../", import.meta.url);

describe("requirements", () => {
  it("are numbered once", () => {
    expect(requirements).toHaveLength(known.size);
  });

  it("are there for every number that is named", () => {
    const named = [...namedIds(), ...Object.keys(elsewhere), ...Object.keys(reasons)];
    expect(named.filter((id) => !known.has(id))).toEqual([]);
  });

  it("are shown to be met where they bind, or there is a reason", () => {
    const open = coverage().filter((one) => binding.has(one.level) && !isShown(one) && one.reason === undefined);
    expect(open.map(({ id, summary }) => `${id} ${summary}`)).toEqual([]);
  });

  it("are shown where they are said to be", () => {
    const paths = [...new Set(Object.values(elsewhere))];
    expect(paths.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  it("have no reason where they are shown", () => {
    const both = coverage().filter((one) => isShown(one) && one.reason !== undefined);
    expect(both.map(({ id }) => id)).toEqual([]);
  });
});
