import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { templates } from "../../src/cli/authors/templates.js";
import { build } from "../e2e/support/build.js";
import { blocksOf, pageText, root } from "./pages.js";
import { follow } from "./shell.js";

const page = "docs/authoring-cli.md";
const commands = blocksOf(page).flatMap((block) => block.commands);

build();

let cwd = "";
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "parley-authoring-"));
  symlinkSync(join(root, "node_modules"), join(cwd, "node_modules"), "junction");
  // The node_modules of the repository do not contain the repository, so the folder itself takes its place.
  symlinkSync(join(root, "dist"), join(cwd, "dist"), "junction");
  writeFileSync(join(cwd, "package.json"), readFileSync(join(root, "package.json")));
  writeFileSync(join(cwd, "agent.ts"), readFileSync(join(root, "templates", "plain", "agent.ts")));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe(page, { timeout: 60_000 }, () => {
  it("shows what its commands print", async () => {
    expect(commands.map(({ command }) => command)).toEqual([
      "npx parley init my-agent --template plain",
      "npx parley dev ./agent.ts",
    ]);
    for (const { command, prints, ...rest } of commands) {
      const typed = command.replace("npx parley", `node ${join(root, "dist/src/cli/main.js")}`);
      const printed = prints.replace("localhost:8080", "localhost:…");
      const env = { HOME: cwd, PARLEY_PORT: "0", PARLEY_GRPC_PORT: "off" };
      await follow({ ...rest, command: typed, prints: printed }, { cwd, ports: {}, env });
    }
  });

  it("describes every template", () => {
    const rows = [...pageText(page).matchAll(/^\| `([\w-]+)` +\|/gm)].map(([, name = ""]) => name);
    expect(rows).toEqual(expect.arrayContaining(Object.keys(templates)));
  });
});
