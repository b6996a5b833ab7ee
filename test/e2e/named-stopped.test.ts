import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { seeded } from "../support/slow-store.js";
import { root } from "./support/build.js";
import { Home, type ServerProcess } from "./support/server-process.js";

/*
 * Tasks that clients of A2A 0.1 name, on two processes that share a file. The processes stop, die or have wrong clocks.
 */

type Json = Record<string, unknown>;

const leaseMs = 2_000;
const HOUR_MS = 3_600_000;

let home: Home;
let one: ServerProcess;
let two: ServerProcess;

const clockFile = (): string => join(dirname(home.store), "clock");

beforeEach(async () => {
  const clock = pathToFileURL(join(root, "test/fixtures/jumping-clock.mjs")).href;
  home = new Home("--shared", "--lease", `${leaseMs}ms`, "--max-reopens", "30", "--retention", "1h");
  home.agent = join(root, "test/fixtures/agents/repeating.mjs");
  home.under = ["env", `NODE_OPTIONS=--import=${clock}`, `TEST_CLOCK_FILE=${clockFile()}`];
  [one, two] = await Promise.all([home.start(), home.start()]);
}, 60_000);

afterEach(async () => {
  for (const server of [one, two]) server.signal("SIGCONT");
  await home.leave();
});

async function call({ url }: ServerProcess, method: string, params: Json, headers: object = {}): Promise<Json> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const all = { "content-type": "application/json", ...headers };
  return (await (await fetch(url, { method: "POST", headers: all, body })).json()) as Json;
}

const say = (id: string, text: string): Json => ({
  id,
  sessionId: `session of ${id}`,
  message: { role: "user", parts: [{ type: "text", text }] },
});

/** Repeats a message under a key until it is answered, like a client whose server was away. */
async function send(to: ServerProcess, name: string, text: string, tries = 60): Promise<Json> {
  for (let left = tries; ; left--) {
    const headers = { "idempotency-key": `${name} ${text}` };
    const answer = await call(to, "tasks/send", say(name, text), headers).catch(() => undefined);
    if (answer?.result !== undefined) return answer.result as Json;
    if (left === 0) throw new Error(`${name}, ${text}: ${JSON.stringify(answer)}`);
    await sleep(250);
  }
}

/** Messages of clients in all tasks of a name, sorted. A reopened task begins with the earlier messages. */
async function said(at: ServerProcess, name: string): Promise<string[]> {
  const params = { contextId: `session of ${name}`, historyLength: 100, pageSize: 100 };
  const { result } = await call(at, "ListTasks", params, { "a2a-version": "1.0" });
  const { tasks } = result as {
    tasks: { history: { messageId: string; role: string; parts: { text: string }[] }[] }[];
  };
  const messages = tasks.flatMap(({ history }) => history.filter(({ role }) => role === "ROLE_USER"));
  const texts = new Map(messages.map(({ messageId, parts }) => [messageId, parts[0]?.text ?? ""]));
  return [...texts.values()].sort();
}

const saidLast = async (at: ServerProcess, name: string): Promise<unknown> => {
  const { result } = await call(at, "tasks/get", { id: name });
  return (result as { status: { message: { parts: { text: string }[] } } }).status.message.parts[0]?.text;
};

describe("tasks that clients of 0.1 name, on two processes", { timeout: 120_000 }, () => {
  it.each([
    ["a moment", 100, 12],
    ["longer than its lease", 2 * leaseMs, 3],
  ])(
    "are one each, with each message once, where one process is stopped while it creates them: for %s",
    async (_, ms, rounds) => {
      const random = seeded(rounds);
      const names = Array.from({ length: rounds }, (_, at) => `task ${at}`);
      for (const name of names) {
        const begun = [send(one, name, "here, first"), send(one, name, "here, second")];
        await sleep(random() * 12);
        one.signal("SIGSTOP");
        const others = [send(two, name, "there")];
        await sleep(ms);
        one.signal("SIGCONT");
        for (const task of await Promise.all([...begun, ...others])) expect(task).toMatchObject({ id: name });
      }
      for (const name of names) {
        await expect.poll(() => said(two, name), { timeout: 20_000 }).toEqual(["here, first", "here, second", "there"]);
        expect(await said(one, name)).toEqual(await said(two, name));
        expect(await saidLast(one, name)).toBe(await saidLast(two, name));
      }
    },
  );

  it("are one each, with each message once, where one process is killed while it creates them", async () => {
    const names = Array.from({ length: 4 }, (_, at) => `task ${at}`);
    const random = seeded(4);
    for (const name of names) {
      const begun = call(one, "tasks/send", say(name, "here"), { "idempotency-key": `${name} here` }).catch(() => {});
      await sleep(random() * 12);
      await one.kill();
      await begun;
      const others = send(two, name, "there");
      one = await home.start();
      // The client that lost the answer repeats its message unchanged.
      await Promise.all([others, send(one, name, "here")]);
    }
    for (const name of names) {
      await expect.poll(() => said(two, name), { timeout: 20_000 }).toEqual(["here", "there"]);
    }
  });

  it.each([5, -5])("keep their names and their newest task when the clock jumps by %i hours", async (hours) => {
    for (const text of ["a", "b"]) await send(one, "task", text);
    writeFileSync(clockFile(), `${hours * HOUR_MS}`);
    await sleep(200);
    for (const text of ["c", "d"]) await send(text === "c" ? one : two, "task", text);
    for (const at of [one, two]) {
      expect(await saidLast(at, "task")).toBe("d");
      expect(await said(at, "task")).toEqual(["a", "b", "c", "d"]);
    }
    writeFileSync(clockFile(), "0");
    await sleep(200);
    await send(two, "task", "e");
    expect([await saidLast(one, "task"), await said(one, "task")]).toEqual(["e", ["a", "b", "c", "d", "e"]]);
  });
});
