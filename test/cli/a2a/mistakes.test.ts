import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { commandRows } from "../../../src/cli/a2a/commands.js";
import { settingRows } from "../../../src/cli/a2a/settings.js";
import { some } from "../../support/cover.js";
import { type Json, openWorld, type World } from "./world.js";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
beforeEach(() => {
  world.seen.splice(0);
});
afterAll(() => world.close());

/** Invalid values of settings. */
const badSettings: Readonly<Record<string, string>> = {
  "--transport": "pigeon",
  "--a2a-version": "9.9",
  "--output": "pretty",
  "--poll-interval": "soon",
  "--timeout": "soon",
  "--metadata": "{",
  "--svc-param": "nope",
  "--endpoint": "ftp://x",
  "--cert": "missing.pem",
  "--ca": "missing.pem",
  "--config": "missing.env",
};

/** Invalid values of commands' own options. */
const badValues: Readonly<Record<string, string>> = {
  "--history": "-1",
  "--status": "sleeping",
  "--limit": "0",
  "--since": "yesterday",
  "--file-part": "missing.txt",
  "--data-part": "{",
  "--request-payload": "{",
  "--push-port": "x",
  "--port": "x",
  "--callers": "0",
  "--duration": "soon",
  "--requests": "0",
  "--warmup": "soon",
  "--rate": "0",
  "--operation": "fly",
  "--count": "0",
  "--interval": "soon",
  "--flow": "magic",
};

/** Operands of the commands that require some. */
const operands: Readonly<Record<string, readonly string[]>> = {
  send: ["hi"],
  "task get": ["t1"],
  "task cancel": ["t1"],
  "task subscribe": ["t1"],
  "task download": ["t1"],
  "task push-config create": ["t1", "https://example.org/"],
  "task push-config get": ["t1", "p1"],
  "task push-config list": ["t1"],
  "task push-config delete": ["t1", "p1"],
  chat: ["hi"],
  record: ["talk.jsonl", "hi"],
  replay: ["talk.jsonl"],
  call: ["GetTask", '{"id":"t1"}'],
  "agents add": ["a", "127.0.0.1:9"],
  "agents show": ["a"],
  "agents remove": ["a"],
  "agents rename": ["a", "b"],
  completion: ["bash"],
};

const longOf = (flags: string): string => /--[a-z0-9-]+/.exec(flags)?.[0] ?? "";

describe.each(commandRows.map((row) => ({ ...row, own: row.options ?? [] })))(
  "a mistake in $words",
  { timeout: 30_000 },
  ({ words, own }) => {
    const line = [...words.split(" "), ...(operands[words] ?? [])];

    async function refused(argv: readonly string[], flag: string): Promise<Json> {
      const { exit, out, err } = await world.run([...argv, "-o", "json"]);
      expect(exit, `${argv.join(" ")}: ${out}${err}`).toBe(2);
      const { error } = JSON.parse(out);
      expect(error.code).toBe("A2ACLI_ERR_USAGE");
      expect(error.message).toContain(flag);
      expect(error.message).not.toContain("\n");
      expect(world.seen).toEqual([]);
      return error;
    }

    it("is an unknown option, or one operand too many", async () => {
      await refused([...line, "--bogus"], "--bogus");
      const { exit, err } = await world.run([...line, "x", "y", "z"]);
      expect(exit).toBe(2);
      expect(err).toMatch(/^Error: .*too many arguments/);
      expect(world.seen).toEqual([]);
    });

    it("is an option without its value", async () => {
      const withValue = own.map(({ flags }) => flags).filter((flags) => flags.includes("<"));
      for (const flags of some(withValue.slice(0, 1), withValue.slice(1))) {
        const { exit, err } = await world.run([...line, longOf(flags)]);
        expect(exit, flags).toBe(2);
        expect(err).toContain(`${longOf(flags)}`);
        expect(err).toContain("argument missing");
      }
      expect(world.seen).toEqual([]);
    });

    it("is a value that is not valid, which is named with its flag", async () => {
      const wrong = own.map(({ flags }) => longOf(flags)).filter((flag) => badValues[flag] !== undefined);
      for (const flag of wrong) await refused([...line, "-a", "AGENT", flag, badValues[flag] ?? ""], flag);
    });
  },
);

describe("a mistake in a setting", { timeout: 30_000 }, () => {
  const typed = settingRows.map(([, { flag }]) => flag).filter((flag) => badSettings[flag] !== undefined);

  it.each(typed)("%s is told in one line, and nothing is sent", async (flag) => {
    const argv = ["send", "hi", ...(flag === "--endpoint" ? [] : ["-a", "AGENT"]), flag, badSettings[flag] ?? ""];
    const { exit, err } = await world.run(argv);
    expect(exit, err).toBe(2);
    expect(err).toMatch(/^Error: .*\nCode: A2ACLI_ERR_USAGE\n/);
    expect(err.split("\n")[0]).toContain(flag);
    expect(world.seen).toEqual([]);
  });

  it.each(["597h", "2147483648ms", "9999999999"])("--timeout %s is longer than a timer", async (value) => {
    const { exit, err } = await world.run(["send", "hi", "-a", "AGENT", "--timeout", value]);
    expect(exit).toBe(2);
    expect(err).toContain(`--timeout: "${value}" is longer than 596h\n`);
    expect(world.seen).toEqual([]);
  });

  it("has a case for every setting that can be wrong", () => {
    const free = settingRows
      .map(([, { flag, placeholder }]) => (placeholder === undefined ? "" : flag))
      .filter((flag) => flag !== "" && badSettings[flag] === undefined);
    // These settings accept any text.
    expect(free.sort()).toEqual(
      ["--agent-card", "--api-key", "--auth", "--bearer", "--cert-key", "--context-id", "--task-id", "--tenant"].sort(),
    );
  });
});

/** Splits a command line of the help into words. */
function wordsIn(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, one, two, three]) => one ?? two ?? three ?? "");
}

it("the help of a command is the same, however it is asked for", async () => {
  const { out: task } = await world.run(["task", "get", "--help"]);
  expect(task).toContain("<taskId>");
  expect(task).toContain("--history <n>");
  for (const argv of [
    ["help", "task", "get"],
    ["task", "help", "get"],
  ])
    expect((await world.run(argv)).out).toBe(task);
  const { out: send } = await world.run(["send", "--help"]);
  expect((await world.run(["help", "send"])).out).toBe(send);
  expect((await world.run(["-o", "json", "send", "--help"])).out).toContain("--message-id <id>");
});

describe("the examples in the help", { timeout: 60_000 }, () => {
  const rows = commandRows.filter(({ examples }) => examples !== undefined);

  it("are there for every command that people begin with", () => {
    const begun = ["send", "task get", "task list", "chat", "card get", "doctor", "ping", "bench", "record", "replay"];
    expect(rows.map(({ words }) => words)).toEqual(expect.arrayContaining(begun));
  });

  it.each(rows)("of $words work", async ({ words, examples = [] }) => {
    const { json } = await world.run(["send", "hold", "-a", "AGENT", "--async", "-o", "json"]);
    const done = await world.run(["send", "echo hi", "-a", "AGENT", "-o", "json"]);
    const id = words === "task cancel" ? json.task.id : done.json.task.id;
    const recording = `{"format":"parley-recording","version":1}\n${JSON.stringify({
      message: { role: "ROLE_USER", parts: [{ text: "say hello" }] },
      answer: { state: null, message: [{ text: "hello" }], artifacts: [], error: null },
    })}\n`;
    for (const example of examples) {
      const argv = wordsIn(example).map((word) => (word === "localhost:8080" ? "AGENT" : word === "TASK" ? id : word));
      const files: Record<string, string> = words === "replay" ? { "hello.jsonl": recording } : {};
      const { exit, out, err } = await world.run(argv, { files });
      expect(exit, `${example}\n${out}${err}`).toBe(0);
    }
    const { out } = await world.run([...words.split(" "), "--help"]);
    for (const example of examples) expect(out).toContain(`  parley ${example}\n`);
  });
});
