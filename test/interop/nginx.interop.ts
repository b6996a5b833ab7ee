import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/client/index.js";
import { Callers } from "../e2e/support/callers.js";
import type { Driver } from "../support/driver.js";
import { freePorts, nginxIn, program, Site } from "./support/site.js";
import { run, succeed } from "./support/tool.js";

/** `PARLEY_RESTARTS=50` restarts each server more often. */
const RESTARTS = Number(process.env.PARLEY_RESTARTS ?? 2);

/** Time between two restarts, in milliseconds. */
const BETWEEN_MS = 1_500;

let site: Site;
let drivers: Driver[] = [];

beforeAll(async () => {
  await program("nginx", "nginx", "-v");
  site = new Site(await freePorts());
  const args = nginxIn(site);
  const { code, stderr } = await run("nginx", [...args, "-t"]);
  expect(code, stderr).toBe(0);
  await site.open("nginx", args);
  drivers = site.drivers();
});

afterAll(async () => {
  for (const driver of drivers) driver.close();
  await site?.close();
});

const message = (id: string, text: string): string =>
  JSON.stringify({ message: { messageId: id, role: "ROLE_USER", parts: [{ text }] } });

describe("nginx as in deploy/nginx", () => {
  it("passes on every binding, and events when they happen", async () => {
    for (const driver of drivers) {
      const stream = driver.stream("SendStreamingMessage", JSON.parse(message(driver.name, "stream 2 8 60000")));
      const seen: string[] = [];
      let taskId = "";
      while (seen.length < 3) {
        const item = await stream.next();
        if (!("message" in item)) throw new Error(`${driver.name}: ${JSON.stringify(item)}`);
        seen.push(...Object.keys(item.message));
        const { task } = item.message as { task?: { id: string } };
        taskId = task?.id ?? taskId;
      }
      // The second piece would come a minute later.
      expect(seen, driver.name).toEqual(["task", "statusUpdate", "artifactUpdate"]);
      stream.hangUp();
      expect((await driver.call("CancelTask", { id: taskId })).error, driver.name).toBeUndefined();
      const { error } = await driver.call("GetTask", { id: "none" });
      expect(error?.reason, driver.name).toBe("TASK_NOT_FOUND");
    }
  });

  it("speaks TLS to clients, and cards have its address", async () => {
    const { tls } = site.ports.front;
    const url = `https://localhost:${tls}/.well-known/agent-card.json`;
    const card = JSON.parse(await succeed("curl", ["-sSk", "--max-time", "30", url]));
    const urls = card.supportedInterfaces.map((each: { url: string }) => each.url);
    expect(urls).toContain(`https://localhost:${tls}`);
  });
});

describe("two servers that are restarted in turn behind nginx", () => {
  it("fail no call and lose no event", { timeout: 60_000 + RESTARTS * 60_000 }, async () => {
    const stop = new AbortController();
    const callers = drivers.map((driver) => new Callers(driver));
    const own = new OwnClient(`http://127.0.0.1:${site.ports.front.http1}`);
    const curl = new Curl(`http://127.0.0.1:${site.ports.front.http1}`);
    const work = [...callers.flatMap((each) => [each.call(stop.signal), each.stream(stop.signal)])];
    work.push(own.call(stop.signal), own.stream(stop.signal), curl.call(stop.signal));
    const restarts = async (): Promise<void> => {
      for (let times = 0; times < RESTARTS; times++) {
        for (const which of [0, 1] as const) {
          await sleep(BETWEEN_MS);
          await site.restart(which);
        }
      }
      await sleep(BETWEEN_MS);
      stop.abort();
    };
    await Promise.all([restarts(), ...work]);
    const tallies = Object.fromEntries(callers.map(({ name, tally }) => [name, tally]));
    if (process.env.PARLEY_RESTARTS !== undefined) {
      const said = { ...tallies, own: [own.calls, own.streams], curl: curl.calls };
      process.stderr.write(`${JSON.stringify(said)}\n`);
    }
    for (const { name, tally } of callers) {
      // nginx sends calls that a server no longer takes to the other one, so clients see none refused.
      expect(tally, name).toMatchObject({ broken: [], refused: 0 });
      expect(tally.calls, name).toBeGreaterThan(RESTARTS);
      expect(tally.streams, name).toBeGreaterThan(0);
    }
    expect(Math.min(own.calls, own.streams, curl.calls)).toBeGreaterThan(0);
  });
});

/** Parley's client, which retries and resumes by itself. */
class OwnClient {
  calls = 0;
  streams = 0;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async call(stop: AbortSignal): Promise<void> {
    const agent = await connect(this.#url);
    for (; !stop.aborted; this.calls++) {
      expect((await agent.send(`echo ${this.calls}`)).text).toBe(String(this.calls));
    }
    await agent.close();
  }

  async stream(stop: AbortSignal): Promise<void> {
    const agent = await connect(this.#url);
    for (; !stop.aborted; this.streams++) {
      let text = "";
      for await (const update of agent.stream("stream 20 4 50")) text += update.text;
      expect(text).toBe(Array.from({ length: 20 }, (_, at) => `${at + 1} `.padEnd(4, ".")).join(""));
    }
    await agent.close();
  }
}

/** curl without any retries, on a new connection for each call. */
class Curl {
  calls = 0;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async call(stop: AbortSignal): Promise<void> {
    for (; !stop.aborted; this.calls++) {
      const body = message(`curl ${this.calls}`, `echo ${this.calls}`);
      const json = ["-H", "content-type: application/json", "-d", body];
      const printed = await succeed("curl", [
        "-sS",
        "--fail-with-body",
        "--max-time",
        "60",
        ...json,
        `${this.#url}/message:send`,
      ]);
      expect(printed).toContain('"TASK_STATE_COMPLETED"');
    }
  }
}
