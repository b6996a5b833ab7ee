import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openWorld, type Setup, type World } from "./world.js";

let world: World;
let config = "";
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(() => {
  config = mkdtempSync(join(tmpdir(), "parley-agents-"));
});
afterEach(() => rmSync(config, { recursive: true, force: true }));

const run = (argv: readonly string[], setup: Setup = {}) =>
  world.run(argv, { ...setup, env: { XDG_CONFIG_HOME: config, ...setup.env } });
const file = () => join(config, "a2a-cli", "agents.txt");
const names = async () => (await run(["agents", "list", "-o", "json"])).json.map(({ name }: { name: string }) => name);

describe("agents", { timeout: 60_000 }, () => {
  it("adds, lists, shows, renames and removes agents", async () => {
    const added = await run(["agents", "add", "weather", "AGENT"]);
    expect(added.exit, added.err).toBe(0);
    expect(added.out).toMatch(/^Name: weather\nAgent: http:\/\/127\.0\.0\.1:\d+\/\n$/);
    expect((await run(["agents", "add", "filed", "./card.json", "-o", "json"])).json.agent).toMatch(/^\/.*card\.json$/);
    expect((await run(["agents", "show", "weather"])).out).toBe(added.out);
    expect((await run(["agents", "rename", "weather", "rain"])).out).toContain("Name: rain\n");
    expect(await names()).toEqual(["filed", "rain"]);
    expect((await run(["agents", "remove", "rain"])).exit).toBe(0);
    expect(await names()).toEqual(["filed"]);
    expect(statSync(file()).mode & 0o077).toBe(0);
  });

  const calls = [
    ["a flag", ["send", "hi", "-a", "weather"], {}],
    ["a variable", ["send", "hi"], { env: { A2ACLI_AGENT_CARD: "weather" } }],
    ["an argument", ["card", "get", "weather"], {}],
  ] as const;
  it.each(calls)("are called by a name in %s", async (_, argv, setup) => {
    await run(["agents", "add", "weather", "AGENT"]);
    const { exit, err } = await run(argv, setup);
    expect(exit, err).toBe(0);
  });

  it("keep their names in the command that resumes", async () => {
    await run(["agents", "add", "weather", "AGENT"]);
    const { out } = await run(["send", "ask Where?", "-a", "weather"]);
    expect(out).toContain("Resume with: parley send --agent-card weather --task-id ");
  });

  it("come before a file of the same name, and not before ./name", async () => {
    await run(["agents", "add", "weather", "AGENT"]);
    const files = { weather: JSON.stringify({ name: "Filed", supportedInterfaces: [] }) };
    expect((await run(["card", "get", "weather"], { files })).out).toContain("Name: Probe\n");
    expect((await run(["card", "get", "./weather"], { files })).out).toContain("Name: Filed\n");
    expect((await run(["card", "get", "other"], { files: { other: files.weather } })).out).toContain("Name: Filed\n");
  });

  it("have the settings of their host", async () => {
    const added = await run(["agents", "add", "weather", "AGENT"]);
    const host = /\/\/([^/]+)/.exec(added.out)?.[1]?.replace(":", "_");
    const home = `home/.config/a2a-cli`;
    const files = {
      [`${home}/agents.txt`]: readFileSync(file(), "utf8"),
      [`${home}/agents/${host}.env`]: "A2ACLI_TIMEOUT=7s\n",
    };
    const { out } = await world.run(["config", "show", "-a", "weather"], { files });
    expect(out).toContain("timeout: 7s (source: global-file ");
  });

  const wrong = [
    ["a name with a dot", ["add", "a.b", "example.org"], /"a\.b" is not a name/],
    ["localhost", ["add", "localhost", "example.org"], /"localhost" is not a name/],
    ["a URL with credentials", ["add", "x", "https://me:secret@example.org"], /the agent: the URL has credentials/],
    ["a URL of another scheme", ["add", "x", "ftp://example.org"], /the agent: .* not a URL with http, https or file/],
    [
      "a name that is taken",
      ["add", "weather", "example.org"],
      /has an agent weather\n.*\nHint: replace it by --force/,
    ],
    ["an unknown name", ["show", "wether"], /has no agent wether\n.*\nHint: agents list/],
    ["an unknown name to remove", ["remove", "wether"], /has no agent wether/],
    ["an unknown name to rename", ["rename", "wether", "x"], /has no agent wether/],
    ["a new name that is taken", ["rename", "weather", "rain"], /has an agent rain/],
    ["too few arguments", ["add", "x"], /missing required argument 'ref'/],
    ["an argument too many", ["show", "weather", "rain"], /too many arguments/],
  ] as const;
  it.each(wrong)("refuse %s, and stay as they are", async (_, argv, told) => {
    await run(["agents", "add", "weather", "https://weather.example.org"]);
    await run(["agents", "add", "rain", "https://rain.example.org"]);
    const before = readFileSync(file(), "utf8");
    const { exit, out, err } = await run(["agents", ...argv]);
    expect(exit).toBe(2);
    expect(out).toBe("");
    expect(err).toMatch(told);
    expect(err).not.toContain("secret");
    expect(readFileSync(file(), "utf8")).toBe(before);
  });

  it("are replaced by --force, and keep the comments of their file", async () => {
    await run(["agents", "add", "weather", "https://one.example.org"]);
    writeFileSync(file(), `# Of the team.\n${readFileSync(file(), "utf8")}`);
    await run(["agents", "add", "weather", "https://two.example.org", "--force"]);
    expect(readFileSync(file(), "utf8")).toBe("# Of the team.\nweather https://two.example.org/\n");
  });

  it("are all stored when processes add them at the same time", async () => {
    const some = Array.from({ length: 8 }, (_, at) => `agent-${at}`);
    await Promise.all(some.map((name) => run(["agents", "add", name, `https://${name}.example.org`])));
    expect(await names()).toEqual(some);
  });

  it("A2ACLI_INTERACT_005 hold no ids of tasks: a call changes nothing in the folder", async () => {
    await run(["agents", "add", "weather", "AGENT"]);
    const before = readFileSync(file(), "utf8");
    await run(["send", "ask Where?", "-a", "weather"]);
    expect(readFileSync(file(), "utf8")).toBe(before);
    expect(existsSync(`${file()}.lock`)).toBe(false);
  });
});
