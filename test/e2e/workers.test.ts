import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { fixture } from "../cli/cli.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Callers } from "./support/callers.js";
import { type Home, type ServerProcess, within } from "./support/server-process.js";
import { endDatabase, workerStores } from "./support/shared-stores.js";
import { logOf, resuming, Story, say, settled, stateOf, taskOf } from "./support/story.js";
import { childrenOf, isAlive, processOf, reaches, workersOf } from "./support/workers.js";

/** A lease longer than any test, so that no takeover waits for its end. */
const LEASE = ["--lease", "10m"];

let home: Home;
let server: ServerProcess;
let drivers: Driver[];

afterAll(endDatabase);
afterEach(async () => {
  for (const driver of drivers) driver.close();
  const left = childrenOf(server.pid);
  await home.leave();
  // The workers end when their primary process was killed.
  await within(30_000, ended(left), () => `${left} are still there.`);
});

async function ended(pids: readonly number[]): Promise<void> {
  while (pids.some(isAlive)) await sleep(20);
}

/** HTTP/1.1 clients, each with its own connection. */
const rest = bindings.find(({ name }) => name === "rest");

function connect(binding = rest): Driver {
  const driver = binding?.connect(server) as Driver;
  drivers.push(driver);
  return driver;
}

async function begin(driver: Driver, text: string): Promise<string> {
  const request = { ...say(text), configuration: { returnImmediately: true } };
  const { message } = await driver.call("SendMessage", request, resuming());
  const task = message?.task as JsonObject;
  return String(task.id);
}

describe.each(workerStores)("parley serve --workers 2 on $name", { timeout: 120_000 }, (store) => {
  beforeEach(async () => {
    drivers = [];
    home = store.home(...LEASE, "--workers", "2", "--idempotent-message-ids");
    home.agent = fixture("process");
    server = await home.start();
  });

  it("gives connections to the workers in turn, and any of them answers about any task", async () => {
    await reaches(() => connect(), 2);
    const both = [await processOf(connect()), await processOf(connect())];
    expect(new Set(both)).toEqual(new Set(workersOf(server.pid)));
    for (const [at, binding] of bindings.entries()) {
      const [one, other] = [connect(), connect(binding)];
      const id = await begin(one, `count 2${at} 20`);
      const story = new Story();
      const stream = other.stream("SubscribeToTask", { id }, resuming({ "Parley-After-Generation": "1" }));
      expect(await story.follow(stream), binding.name).toEqual({ end: true });
      expect(story.events.size, binding.name).toBe(22 + at);
      const waiting = await begin(one, `wait 6000${at}`);
      const { message } = await other.call("CancelTask", { id: waiting }, resuming());
      expect(stateOf(message ?? {}), binding.name).toBe("TASK_STATE_CANCELED");
    }
  });

  it("continues the tasks and streams of a killed worker at once", async () => {
    await reaches(() => connect(), 2);
    const clients = Array.from({ length: 4 }, () => connect());
    const stories = clients.map(() => new Story());
    const begun = clients.map((driver, at) =>
      driver.stream("SendStreamingMessage", say(`count 60 5${at}`), resuming()),
    );
    const endings = begun.map((stream, at) => (stories[at] as Story).follow(stream));
    await Promise.all(stories.map((story) => story.has(10)));
    const victim = await processOf(connect());
    process.kill(victim, "SIGKILL");
    for (const [at, ending] of endings.entries()) {
      const story = stories[at] as Story;
      let isOver = "end" in (await ending);
      while (!isOver) {
        const { taskId: id, generation } = story;
        const from = resuming({ "Parley-After-Generation": `${generation}` });
        isOver = "end" in (await story.follow(connect().stream("SubscribeToTask", { id }, from)));
      }
      expect(story.state).toBe("TASK_STATE_COMPLETED");
      expect(numbersOf(await taskOf(connect(), story.taskId))).toEqual(Array.from({ length: 60 }, (_, n) => n + 1));
      expect((await logOf(connect(), story.taskId)).generation).toBe(story.generation);
    }
    // The killed worker had some of the tasks, and another one has replaced it.
    expect(server.log).toContain("took over interrupted tasks");
    const now = await reaches(() => connect(), 2);
    expect(now).toEqual(new Set(workersOf(server.pid)));
    expect(now).not.toContain(victim);
  });

  it("replaces its workers in turn at SIGUSR2, and no call fails", async () => {
    const before = await reaches(() => connect(), 2);
    const all = bindings.map((binding) => connect(binding));
    const callers = all.map((driver) => new Callers(driver));
    const stop = new AbortController();
    const work = callers.flatMap((each) => [each.call(stop.signal), each.stream(stop.signal)]);
    const strict = keptAlive(stop.signal);
    await sleep(500);
    server.signal("SIGUSR2");
    const isReplaced = async (): Promise<void> => {
      while (!server.log.includes("the workers are replaced")) await sleep(50);
    };
    await within(60_000, isReplaced(), () => server.log);
    await sleep(500);
    stop.abort();
    await Promise.all(work);
    expect(await strict).toBeGreaterThan(10);
    for (const { tally, name } of callers) {
      expect(tally.calls, name).toBeGreaterThan(5);
      // An HTTP/2 client refuses a call that it made just before it read the GOAWAY (RFC 9113, 8.7). This happens at
      // most once for each replaced worker.
      const isHttp2 = ["grpc", "connect"].includes(name);
      const broken = tally.broken.filter((message) => !isHttp2 || !message.includes("NGHTTP2_REFUSED_STREAM"));
      expect([tally.refused, broken], name).toEqual([[], []]);
      expect(tally.broken.length, name).toBeLessThanOrEqual(4);
    }
    const after = await reaches(() => connect(), 2);
    expect([...after].filter((pid) => before.has(pid))).toEqual([]);
  });

  it("shuts down gracefully at SIGTERM, and at once at a second one", async () => {
    await reaches(() => connect(), 2);
    const id = await begin(connect(), "wait 1500");
    server.signal("SIGTERM");
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(childrenOf(server.pid)).toEqual([]);
    server = await home.start();
    expect(stateOf(await settled(connect(), id))).toBe("TASK_STATE_COMPLETED");
    await begin(connect(), "wait 60000");
    const workers = childrenOf(server.pid);
    server.signal("SIGTERM");
    await sleep(1_000);
    server.signal("SIGTERM");
    expect(await server.exited).toEqual({ code: null, signal: "SIGTERM" });
    await within(10_000, ended(workers), () => "A worker is still there.");
  });

  it("leaves no worker when its primary process is killed", async () => {
    await begin(connect(), "wait 1000");
    const workers = childrenOf(server.pid);
    expect(workers.length).toBeGreaterThan(0);
    await server.kill();
    await within(30_000, ended(workers), () => "A worker is still there.");
  });
});

/** Makes calls with an HTTP/1.1 client that keeps its connection and never retries. @returns the number of calls */
async function keptAlive(stop: AbortSignal): Promise<number> {
  let calls = 0;
  for (; !stop.aborted; calls++) {
    const message = { messageId: `kept ${calls}`, role: "ROLE_USER", parts: [{ text: "which process" }] };
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const answer = await fetch(`${server.url}/message:send`, {
      method: "POST",
      headers,
      body: JSON.stringify({ message }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
  }
  return calls;
}

function numbersOf(task: JsonObject): number[] {
  const [artifact] = task.artifacts as { parts: { text: string }[] }[];
  return (artifact?.parts ?? []).map(({ text }) => Number(text));
}
