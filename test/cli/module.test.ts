import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { isWhole } from "../support/cover.js";
import { type Run, ready, type Served, workplaces } from "./cli.js";

const ports = ["--port", "0", "--grpc-port", "0", "--store", "memory"];
const isNative = Boolean((process.features as { typescript?: unknown }).typescript);
const card = `{ name: "Module", description: "Answers.", version: "1.0.0" }`;
const agent = `{ card: ${card}, async *execute() {} }`;

/** Every third case in `npm test`, because each starts a process. */
const some = <T>(cases: readonly T[]): readonly T[] => (isWhole ? cases : cases.filter((_, at) => at % 3 === 0));

const place = workplaces();

function serve(file: string, text: string, more: { args?: string[]; env?: Record<string, string> } = {}): Run {
  writeFileSync(join(place.path, file), text);
  return place.run(["serve", file, ...ports, ...(more.args ?? [])], more.env);
}

const served = (...args: Parameters<typeof serve>): Promise<Served> => ready(serve(...args));

async function refusal(...args: Parameters<typeof serve>): Promise<string> {
  const one = serve(...args);
  expect([await one.exited, one.stdout()]).toEqual([2, ""]);
  expect(one.stderr().trimEnd().split("\n")).toHaveLength(1);
  return one.stderr();
}

const json = { "content-type": "application/json" };
const send = (url: string, parts: unknown[], headers = {}): Promise<Response> =>
  fetch(`${url}/message:send`, {
    method: "POST",
    headers: { ...json, ...headers },
    body: JSON.stringify({ message: { messageId: "1", role: "ROLE_USER", parts } }),
  });

describe("parley serve and a module", { timeout: 60_000 }, () => {
  it("takes options that it exports by name, and the command line before them", async () => {
    const text = `
      export default ${agent};
      export const authenticator = {
        authenticate: (call) => (call.header("authorization") === "Bearer x" ? { owner: "x" } : undefined),
      };
      export const limits = { maxParts: 1, maxCalls: 100 };
      export const retentoinMs2 = 1;`;
    const { url, stderr } = await served("agent.mjs", text, { env: { PARLEY_MAX_PARTS: "2" } });
    expect((await send(url, [{ text: "a" }])).status).toBe(401);
    const authorization = { authorization: "Bearer x" };
    expect((await send(url, [{ text: "a" }, { text: "b" }], authorization)).status).toBe(200);
    expect((await send(url, [{ text: "a" }, { text: "b" }, { text: "c" }], authorization)).status).toBe(400);
    expect(stderr()).toContain("agent.mjs exports retentoinMs2, which is not an option: did you mean retentionMs?");
    expect(stderr()).toContain("the card of Module has no securitySchemes");
  });

  it("takes them together, as options or with the agent as the default", async () => {
    const together = await served("a.mjs", `export default ${agent}; export const options = { tenants: ["blue"] };`);
    expect((await fetch(`${together.url}/red/tasks`)).status).toBe(400);
    const all = await served("b.mjs", `export default { agent: ${agent}, tenants: ["blue"] };`);
    expect((await fetch(`${all.url}/blue/tasks`)).status).toBe(200);
    expect((await fetch(`${all.url}/red/tasks`)).status).toBe(400);
  });

  it("names what is wrong with them", async () => {
    const wrong: [string, string][] = [
      [
        `export default ${agent}; export const options = { limit: {} };`,
        "the option limit is not known: did you mean limits?",
      ],
      [
        `export default ${agent}; export const limits = 1; export const options = { limits: {} };`,
        "gives the option limits twice",
      ],
      [`export default { card: ${card}, async execute() {} };`, "write `async *execute(turn)`"],
      [
        `export default { ...${agent}, card: { ...${card}, descripton: "x" } };`,
        "Invalid agent: card.descripton is not known: did you mean description?",
      ],
      ["\n\nthrow new Error('it broke');", "cannot be loaded: it broke (agent.mjs:3)"],
      [`export default ${agent}; export const options = Promise.resolve({});`, "options that are a promise: await it"],
      [`export default ${agent}; export const options = () => ({});`, "options that are a function and not an object"],
      [`throw 10n; export default ${agent};`, "it threw 10n"],
      [`await new Promise(() => {}); export default ${agent};`, "never finishes loading"],
      [`process.exit(0); export default ${agent};`, "ended the process with code 0"],
      ["export default {\n  a: 1\n  b: 2\n};", "(agent.mjs:3)"],
      ["\n\nimport nope from 'no-package/part.js';", "Cannot find package 'no-package' (agent.mjs:3)\n"],
      ['\nexport * from "./nope.js";', "nope.js' (agent.mjs:2)\n"],
      ["\nawait import('./other.mjs');", "nope.js' (other.mjs:4)\n"],
      ["await import(['./no', 'pe.js'].join(''));", "nope.js' (agent.mjs)\n"],
      ["\nimport { nope } from 'node:fs';", "does not provide an export named 'nope' (agent.mjs:2)"],
    ];
    writeFileSync(join(place.path, "other.mjs"), 'const what = "./nope.js";\n\nimport {\n  a } from "./nope.js";');
    for (const [text, why] of some(wrong)) expect(await refusal("agent.mjs", text)).toContain(why);
  });

  const mistakes: readonly [string, string][] = [
    ["export const security = {};", "exports security, which protects nothing there: put it on the agent"],
    ["export const securty = {};", "exports securty, which protects nothing there: put it on the agent"],
    ["export const securitySchemes = {};", "exports securitySchemes, which protects nothing there"],
    ["export const athenticator = {};", "which is not an option: did you mean authenticator?"],
    ["export const authentication = {};", "which is not an option: did you mean authenticator?"],
    ["export const ownerof = () => undefined;", "which is not an option: did you mean ownerOf?"],
    ["export const interceptor = [];", "which is not an option: did you mean interceptors?"],
    ["export const options = { security: {} };", "security is not an option: it belongs on the agent"],
    ["export default { agent, security: {} };", "security is not an option: it belongs on the agent"],
  ];
  it.each(some(mistakes))("ends the start where a protection has no effect: %s", async (mistake, why) => {
    expect(await refusal("agent.mjs", `export const agent = ${agent};\n${mistake}`)).toContain(why);
  });

  it("takes exports of other names, and those that the agent uses", async () => {
    const text = `
      import { apiKeyScheme } from ${JSON.stringify(new URL("../../dist/src/auth/index.js", import.meta.url).href)};
      const keys = [{ owner: "ann", sha256: "0".repeat(64) }];
      export const security = { schemes: { key: apiKeyScheme({ in: "header", name: "x-key", keys }) } };
      export const agent = { ...${agent}, security };
      export const retries = 1, author = "x", securities = ["DE0001"], authorize = () => true;`;
    expect((await served("agent.mjs", text)).stdout()).toMatch(/^Module 1\.0\.0 is ready/);
  });

  it("runs TypeScript as it is, or says what it needs", async () => {
    writeFileSync(join(place.path, "package.json"), '{"type":"module"}');
    const alone = `const answer: string = "x";\nexport default { card: ${card}, async *execute(turn: unknown): AsyncIterable<never> {} };`;
    writeFileSync(join(place.path, "card.ts"), `export const card: object = ${card};`);
    // TypeScript imports name the compiled file.
    const parted = `import { card } from "./card.js";\nexport default { card, async *execute(turn: unknown): AsyncIterable<never> {} };`;
    if (isNative) {
      expect((await served("agent.ts", alone)).stdout()).toMatch(/^Module 1\.0\.0 is ready/);
      expect(await refusal("agent.ts", parted)).toContain("(agent.ts:1): import card.ts by that name, or install tsx");
    } else {
      expect(await refusal("agent.ts", alone)).toContain("use Node.js 22.18 or later, or install tsx beside it");
    }
    mkdirSync(join(place.path, "node_modules"));
    symlinkSync(
      fileURLToPath(new URL("../../node_modules/tsx", import.meta.url)),
      join(place.path, "node_modules/tsx"),
    );
    for (const text of [alone, parted])
      expect((await served("agent.ts", text)).stdout()).toMatch(/^Module 1\.0\.0 is ready/);
    const byCompiledName = await ready(place.run(["serve", "agent.js", ...ports]));
    expect(byCompiledName.stdout()).toMatch(/^Module 1\.0\.0 is ready/);
    expect(await refusal("agent.ts", "\nconst a: number = ;")).toContain("agent.ts:2");
  });
});

describe("parley serve and what is hardly meant", { timeout: 60_000 }, () => {
  it("names it in the log, and variables that are not known", async () => {
    const text = `export default { ...${agent}, extendedCard: {} };`;
    const { stderr } = await served("agent.mjs", text, { args: ["--host", "0.0.0.0"], env: { PARLEY_PROT: "1" } });
    expect(stderr()).toContain("the variable PARLEY_PROT is not known: did you mean PARLEY_PORT?");
    expect(stderr()).toContain("the cards name localhost");
    expect(stderr()).toContain("anyone can read and cancel every task");
    expect(stderr()).toContain("no caller can get the extendedCard");
  });

  it("refuses what cannot be", async () => {
    const text = `export default ${agent};`;
    expect(await refusal("agent.mjs", text, { args: ["--shared"] })).toContain("a store in memory");
    expect(await refusal("agent.mjs", text, { args: ["--retentoin", "7d"] })).toContain("(Did you mean --retention?)");
    const url = ["--card-grpc", "url", "--public-url", "https://example.org/agents"];
    expect(await refusal("agent.mjs", text, { args: url })).toContain("below which gRPC cannot be served");
    expect(await refusal("agent.mjs", text, { args: ["--retention", "7"] })).toContain("a time with its unit, such as");
    expect(await refusal("agent.mjs", text, { args: ["--max-request-bytes", "3GiB"] })).toContain("It is not between");
  });
});

describe("the log of calls and ends", { timeout: 60_000 }, () => {
  it("has a line for each, and a signal says what is waited for", async () => {
    const waiting = `export default { card: ${card}, async *execute(turn) {
      if (turn.text === "wait") await new Promise((resolve) => setTimeout(resolve, 60000));
    } };`;
    const server = await served("agent.mjs", waiting, { args: ["--access-log", "--grace", "0"] });
    await send(server.url, [{ text: "a" }]);
    await fetch(`${server.url}/tasks/nope`);
    const body = { message: { messageId: "2", role: "ROLE_USER", parts: [{ text: "wait" }] } };
    const later = { ...body, configuration: { returnImmediately: true } };
    await fetch(`${server.url}/message:send`, { method: "POST", headers: json, body: JSON.stringify(later) });
    server.child.kill("SIGINT");
    expect(await server.exited).toBe(0);
    const lines = server
      .stderr()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: "call", method: "SendMessage", binding: "rest", code: "OK", state: "COMPLETED" }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({ method: "GetTask", code: "TASK_NOT_FOUND", taskId: "nope" }),
    );
    expect(lines).toContainEqual(expect.objectContaining({ msg: "an execution ended", state: "COMPLETED" }));
    const asked = "asked to end: 1 task is running; Ctrl-C again ends it now";
    expect(lines).toContainEqual(expect.objectContaining({ msg: asked, running: 1 }));
  });
});
