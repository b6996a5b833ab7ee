import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { localCodes } from "../../src/cli/a2a/errors.js";
import { build } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { blocksOf, pageText, root } from "./pages.js";
import { follow } from "./shell.js";

/** Pages whose commands are run. A command with a placeholder is not run. */
const pages = ["docs/cli.md", "docs/cli-tasks.md", "docs/cli-bench.md", "docs/cli-chat.md"] as const;

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

describe("the pages of the command line", { timeout: 120_000 }, () => {
  it.each(pages)("%s shows what its commands print", async (page) => {
    const commands = blocksOf(page)
      .flatMap((block) => block.commands)
      .filter(({ command }) => !/<[a-z ]+>/.test(command));
    expect(commands.length).toBeGreaterThanOrEqual(2);
    const ports = { 8080: new URL(server.url).port };
    for (const { command, prints, ...rest } of commands) {
      const typed = command.replaceAll("npx parley", `node ${join(root, "dist/src/cli/main.js")}`);
      const printed = prints.replaceAll("localhost:8080", `localhost:${ports[8080]}`);
      await follow({ ...rest, command: typed, prints: printed }, { cwd, ports, env: { HOME: cwd } });
    }
  });

  it("name every code of the command line with its exit code", () => {
    const rows = [...pageText("docs/cli.md").matchAll(/^\| ([\d, ]+?) +\|.*$/gm)];
    for (const [code, exit] of Object.entries(localCodes)) {
      const row = rows.find(([line]) => line.includes(`\`${code}\``));
      expect(row?.[1]?.split(", ").map(Number), code).toContain(exit);
    }
  });
});
