import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../package/installed.js";
import { isAsked, programOf, tooOld } from "./versions.js";

const { bin } = createRequire(import.meta.url)("../../package.json") as { bin: { parley: string } };

describe.each(tooOld)("Node.js %s, which is too old", (version) => {
  it.runIf(isAsked(version))("is told which one is needed, in one line", () => {
    const { status, stdout, stderr } = spawnSync(programOf(version), [join(root, bin.parley), "--version"], {
      encoding: "utf8",
    });
    const line = `parley: Node.js 20.19 or later is needed, and this is ${version}.\n`;
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: "", stderr: line });
  });
});
