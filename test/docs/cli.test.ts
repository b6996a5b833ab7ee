import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { localCodes } from "../../src/cli/a2a/errors.js";
import { build } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { blocksOf, pageText, root } from "./pages.js";
import { follow } from "./shell.js";

const commands = blocksOf("docs/cli.md").flatMap((block) => block.commands);

build();

const home = new Home();
let server: ServerProcess;
let cwd = "";
beforeAll(async () => {
  server = await home.start();
  cwd = mkdtempSync(join(tmpdir(), "parley-cli-page-"));
});
afterAll(async () => {
  await home.leave();
  rmSync(cwd, { recursive: true, force: true });
});

describe("docs/cli.md", { timeout: 120_000 }, () => {
  it("shows what its commands print", async () => {
    expect(commands.length).toBeGreaterThan(5);
    const ports = { 8080: new URL(server.url).port };
    for (const { command, prints, ...rest } of commands) {
      const typed = command.replaceAll("npx parley", `node ${join(root, "dist/src/cli/main.js")}`);
      const printed = prints.replaceAll("localhost:8080", `localhost:${ports[8080]}`);
      await follow({ ...rest, command: typed, prints: printed }, { cwd, ports, env: { HOME: cwd } });
    }
  });

  it("names every code of the command line with its exit code", () => {
    const rows = [...pageText("docs/cli.md").matchAll(/^\| ([\d, ]+?) +\|.*$/gm)];
    for (const [code, exit] of Object.entries(localCodes)) {
      const row = rows.find(([line]) => line.includes(`\`${code}\``));
      expect(row?.[1]?.split(", ").map(Number), code).toContain(exit);
    }
  });
});
