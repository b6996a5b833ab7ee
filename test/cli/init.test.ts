import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { filesOf, init } from "../../src/cli/authors/init.js";
import { templates } from "../../src/cli/authors/templates.js";
import type { Io } from "../../src/cli/io.js";
import { build } from "../e2e/support/build.js";
import { watch, workplaces } from "./cli.js";
import { outputTo } from "./memory-io.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

build();

const place = workplaces();

/** Runs `parley init`. Returns its exit code and its output. */
async function ran(...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const one = place.run(["init", ...args]);
  return { code: await one.exited, stdout: one.stdout(), stderr: one.stderr() };
}

const read = (...path: string[]): string => readFileSync(join(place.path, ...path), "utf8");

describe("parley init", () => {
  it.each(Object.keys(templates))("writes the template %s with the name in its files", async (template) => {
    expect(await ran("my-own", "--template", template)).toMatchObject({
      code: 0,
      stdout: `my-own is in my-own (template ${template}).\n\nNext:\n\n  cd my-own\n  npm install\n  npm run dev\n`,
      stderr: "",
    });
    const names = readdirSync(join(place.path, "my-own"));
    const expected = [".gitignore", "README.md", "agent.test.ts", "agent.ts", "package.json", "tsconfig.json"];
    expect(names).toEqual(expect.arrayContaining(expected));
    expect(names.includes(".env.example")).toBe(template === "ai-sdk");
    const { name, dependencies } = JSON.parse(read("my-own", "package.json"));
    expect([name, dependencies["parley-a2a"]]).toEqual(["my-own", expect.stringMatching(/^\^\d+\.\d+\.\d+$/)]);
    expect(read("my-own", "agent.ts")).toContain('name: "my-own"');
    for (const each of names) expect(read("my-own", each)).not.toMatch(/my-agent/);
  });

  it("writes into this folder, and names it as --name says", async () => {
    const { stdout } = await ran(".", "--yes", "--name", "@acme/sorter");
    expect(stdout).toBe(
      "@acme/sorter is in this folder (template plain).\n\nNext:\n\n  npm install\n  npm test\n  npm run dev\n",
    );
    expect(JSON.parse(read("package.json")).name).toBe("@acme/sorter");
  });

  it("depends on a tarball by its path from the new folder", async () => {
    writeFileSync(join(place.path, "parley.tgz"), "");
    expect((await ran("agents/a", "--yes", "--package", "parley.tgz")).stdout).toContain("  cd agents/a\n");
    const { dependencies } = JSON.parse(read("agents", "a", "package.json"));
    expect(dependencies["parley-a2a"]).toBe("file:../../parley.tgz");
  });

  it.each([
    { args: [], says: "the folder is missing: parley init my-agent --yes" },
    { args: ["a"], says: "--template is required without a terminal: choose plain, ai-sdk," },
    { args: ["a", "-t", "expres"], says: "--template: expres is not known: did you mean express?" },
    { args: ["Big One", "--yes"], says: `the folder's name: "Big One" is not a name for npm` },
    { args: ["Big One", "--yes"], says: "add --name big-one" },
    { args: ["a", "--yes", "-n", "express"], says: `--name: "express" is the name of another package` },
    { args: ["a", "--yes", "-n", "a".repeat(215)], says: "has more than 214 characters" },
    { args: ["a", "--yes", "-n", "../b"], says: "is not a name for npm" },
    { args: ["a", "--yes", "--package", "./none.tgz"], says: "--package: ./none.tgz does not exist" },
    { args: ["a", "--yes", "--no-such"], says: "unknown option '--no-such'" },
    { args: ["a", "b", "--yes"], says: "too many arguments" },
  ])("refuses $args in one line, and writes nothing", async ({ args, says }) => {
    const { code, stdout, stderr } = await ran(...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(says);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(readdirSync(place.path)).toEqual([]);
  });

  it("leaves a folder with files as it is, without --force", async () => {
    mkdirSync(join(place.path, "a", "src"), { recursive: true });
    expect(await ran("a", "--yes")).toMatchObject({
      code: 2,
      stderr: "parley: a is not empty, it has src: name another folder, or add --force\n",
    });
    expect(readdirSync(join(place.path, "a"))).toEqual(["src"]);
    writeFileSync(join(place.path, "b"), "");
    expect((await ran("b", "--yes", "--force")).stderr).toBe("parley: b is not a folder: name another one\n");
  });

  it("lists the files that --force replaces, and follows no link", async () => {
    mkdirSync(join(place.path, "a", ".git"), { recursive: true });
    writeFileSync(join(place.path, "mine.ts"), "mine");
    symlinkSync(join(place.path, "mine.ts"), join(place.path, "a", "agent.ts"));
    writeFileSync(join(place.path, "a", "other.txt"), "other");
    const { code, stderr } = await ran("a", "--yes", "--force");
    expect([code, stderr]).toEqual([0, "parley: replaced agent.ts\n"]);
    expect([read("mine.ts"), read("a", "other.txt")]).toEqual(["mine", "other"]);
    expect(read("a", "agent.ts")).toContain("parley-a2a");
  });

  it("fails with one line where it may not write", async () => {
    mkdirSync(join(place.path, "a", "agent.ts"), { recursive: true });
    const { code, stderr } = await ran("a", "--yes", "--force");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^parley: cannot write the files: .*agent\.ts.*\n$/);
  });
});

describe("parley init on a terminal", () => {
  /** Runs the command and types an answer after each question. */
  async function typed(folder: string | undefined, ...answers: string[]): Promise<string> {
    let shown = "";
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
    const output = Object.assign(
      outputTo((text) => {
        shown += text;
        if (/: $/.test(text) && answers.length > 0) setImmediate(() => stdin.write(answers.shift()));
      }),
      { isTTY: true, columns: 80 },
    );
    const io: Io = {
      ...{ program: "parley", version: "1.2.3", env: {}, cwd: place.path, home: undefined },
      ...{ stdin, stdout: output, stderr: output, interrupted: new AbortController().signal },
    };
    await init(io, folder, {}).catch((error: Error) => {
      shown += `[${error.message}]`;
    });
    return shown;
  }

  it("asks for the name and the template", async () => {
    expect(await typed(undefined, "sorter\r", "3\r")).toContain("sorter is in sorter (template express).");
    expect(existsSync(join(place.path, "sorter", "server.ts"))).toBe(true);
  });

  it("asks again after a wrong answer, and takes what it proposes", async () => {
    const shown = await typed("Big One", "No!\r", "\r", "9\r", "fastify\r");
    expect(shown).toContain('the name: "No!" is not a name for npm');
    expect(shown).toContain("choose 1 to 4, or a name");
    expect(shown).toContain("big-one is in Big One (template fastify).");
    expect(shown).toContain("  cd 'Big One'\n");
  });

  it.each(["\u0003", "\u0004"])("creates nothing after %j", async (key) => {
    expect(await typed(undefined, "sorter\r", key)).toContain("[nothing was created]");
    expect(readdirSync(place.path)).toEqual([]);
  });
});

describe("a new project", () => {
  /** Creates a project whose packages are those of the repository, including this package. */
  async function project(template: string): Promise<void> {
    const files = await filesOf(template, { name: "sorter", spec: "*" });
    for (const [name, text] of files) writeFileSync(join(place.path, name), text);
    symlinkSync(join(root, "node_modules"), join(place.path, "node_modules"), "junction");
    // The node_modules of the repository do not contain the repository, so the project itself takes its place.
    writeFileSync(join(place.path, "package.json"), readFileSync(join(root, "package.json"), "utf8"));
    symlinkSync(join(root, "dist"), join(place.path, "dist"), "junction");
  }

  const ownApps = ["express", "fastify"];

  it.each(["plain", ...ownApps])("passes its test: %s", async (template) => {
    await project(template);
    const args = ["--import", "tsx", "--test", "agent.test.ts"];
    const run = place.keep(watch(spawn(process.execPath, args, { cwd: place.path })));
    expect([await run.exited, run.stdout()]).toEqual([0, expect.stringMatching(/pass 2\b/)]);
  });

  it.each(ownApps)("serves its agent beside a route of its own: %s", async (template) => {
    await project(template);
    const env = { ...process.env, PORT: "0" };
    const run = place.keep(watch(spawn(process.execPath, ["--import", "tsx", "server.ts"], { cwd: place.path, env })));
    const url = async (): Promise<string> => {
      const [found = ""] = /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(run.stdout()) ?? [];
      return found || `nothing yet: ${run.stderr()}`;
    };
    await expect.poll(url).toMatch(/^http:/);
    const at = await url();
    expect(await (await fetch(`${at}/hello`)).text()).toBe("A route of your own.");
    const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "One. Two!" }] };
    const answer = await fetch(`${at}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message }),
    });
    expect(await answer.json()).toMatchObject({
      task: { artifacts: [{ parts: [{ text: "One. " }, { text: "Two!" }] }] },
    });
    run.child.kill("SIGTERM");
    expect(await run.exited, run.stderr()).toBe(0);
  });
});
