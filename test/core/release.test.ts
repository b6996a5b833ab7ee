import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { RELEASE } from "../../src/core/release.js";

it("RELEASE is the version of package.json", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  expect(RELEASE).toBe(version);
});
