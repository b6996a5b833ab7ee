import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { v1 } from "../../src/version/v1.js";
import type { ProtocolVersion } from "../../src/version/version.js";
import { servedVersions, Versions } from "../../src/version/versions.js";

const src = fileURLToPath(new URL("../../src", import.meta.url));

const row = (name: string): ProtocolVersion => ({ name, interfaces: ["jsonRpc"], load: async () => ({}) });

describe("Versions", () => {
  it("know a version with and without a patch number, and an empty value as 0.3", () => {
    const native = servedVersions.only([]);
    expect(["1.0", " 1.0 ", "1.0.7", "0.3", "", "1", "x"].map((value) => native.named(value))).toEqual([
      "1.0",
      "1.0",
      "1.0",
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(new Versions(v1, [row("0.3")]).named("")).toBe("0.3");
  });

  it("take no name that cannot be asked for, and none twice", () => {
    for (const name of ["1", "1.0.0", "", "v2.0"]) expect(() => new Versions(v1, [row(name)])).toThrow("Major.Minor");
    expect(() => new Versions(v1, [row("1.0")])).toThrow("registered twice");
  });
});

describe("the version that the service speaks", () => {
  it("is written in one place of src/", () => {
    const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
    const naming = files.filter((file) => /["'`]1\.0["'`]/.test(readFileSync(join(src, file), "utf8")));
    expect(naming).toEqual([join("version", "v1.ts")]);
  });
});
