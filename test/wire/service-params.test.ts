import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseExtensions, parseVersion, versionFromQuery } from "../../src/wire/service-params.js";

describe("parseVersion()", () => {
  it("compares major and minor only, and reads an empty value as 0.3", () => {
    expect(["1.0", " 1.0 ", "1.0.1", "0.3", "", "2.11"].map(parseVersion)).toEqual([
      "1.0",
      "1.0",
      "1.0",
      "0.3",
      "0.3",
      "2.11",
    ]);
    for (const value of ["1", "v1.0", "1.0, 1.0", "1.0.0.0", "1.x", "1.0-rc"])
      expect(parseVersion(value)).toBeUndefined();
  });
});

describe("parseExtensions()", () => {
  it("trims, drops empty entries and repetitions", () => {
    expect(parseExtensions(" a, b ,,a,c")).toEqual(["a", "b", "c"]);
    expect(parseExtensions("")).toEqual([]);
  });
});

describe("versionFromQuery()", () => {
  it("finds the parameter whatever its case", () => {
    expect(versionFromQuery("x=1&a2a-VERSION=1.0&y")).toBe("1.0");
    expect(versionFromQuery("A2A-Version=1%2E0")).toBe("1.0");
    expect(versionFromQuery("A2A-Version=")).toBe("");
    for (const query of ["", "x=A2A-Version=1.0", "A2A-Version", "XA2A-Version=1"])
      expect(versionFromQuery(query)).toBeUndefined();
    fc.assert(fc.property(fc.string(), (text) => void versionFromQuery(`A2A-Version=${text}`)));
  });
});
