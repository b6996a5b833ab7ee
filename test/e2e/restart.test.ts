import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BindingName, Driver, Reply } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { generationIn, logOf, resuming, Story, say, settled, stateOf, statusText, taskOf } from "./support/story.js";

/** Twenty thousand pieces, one each millisecond, so that the kill interrupts the work. */
const longStream = "stream 20000 20 1";

/** Long enough that the kill interrupts it, and short enough to wait for its second run. */
const longWait = "wait 5000";

/** The open calls of one client over its binding at the time of the kill. */
interface Client {
  readonly binding: BindingName;
  /** The stream that began with the message. */
  readonly stream: Story;
  /** A subscription to the same task that began in the middle. */
  readonly subscription: Story;
  /** The stream of a task whose agent restarts. */
  readonly wait: Story;
  /** A blocking send to such an agent. */
  readonly blocking: Promise<Reply>;
  /** A task that waits for an answer. */
  readonly asked: JsonObject;
}

/** A single process does not wait for the lease of a dead one. This lease is longer than the tests. */
const home = new Home("--lease", "10m");
let server: ServerProcess;
let clients: Client[];

beforeAll(async () => {
  const before = await home.start();
  const drivers = bindings.map((binding) => binding.connect(before));
  clients = await Promise.all(drivers.map(begin));
  await before.kill();
  for (const driver of drivers) driver.close();
  server = await home.start();
}, 60_000);

afterAll(() => home.leave());

/** Starts a client's calls. Returns when all are accepted and the streams have events. */
async function begin(driver: Driver): Promise<Client> {
  const { name: binding } = driver;
  const [stream, subscription, wait] = [new Story(), new Story(), new Story()];
  void stream.follow(driver.stream("SendStreamingMessage", say(longStream), resuming()));
  void wait.follow(driver.stream("SendStreamingMessage", say(longWait), resuming()));
  const blocking = driver.call("SendMessage", keptWaiting(binding), resuming({ "Idempotency-Key": binding }));
  // The call fails with the connection, in a different way for each binding.
  blocking.catch(() => {});
  const options = resuming({ "Idempotency-Key": `ask ${binding}` });
  const { message } = await driver.call("SendMessage", say("ask Which colour?"), options);
  await Promise.all([stream.has(20), wait.has(1), accepted(driver, `blocking ${binding}`)]);
  void subscription.follow(driver.stream("SubscribeToTask", { id: stream.taskId }, resuming()));
  await subscription.has(20);
  return { binding, stream, subscription, wait, blocking, asked: message?.task as JsonObject };
}

function keptWaiting(binding: BindingName): JsonObject {
  return say(longWait, { contextId: `blocking ${binding}` });
}

/** Waits until a context has a task. */
async function accepted(driver: Driver, contextId: string): Promise<void> {
  for (;;) {
    const { message } = await driver.call("ListTasks", { contextId });
    if (message?.totalSize === 1) return;
  }
}

/** Runs a check for each client over its own binding, all at once. */
async function forEach(check: (client: Client, driver: Driver) => Promise<void>): Promise<void> {
  const runs = bindings.map(async (binding) => {
    const driver = binding.connect(server);
    const client = clients.find((each) => each.binding === binding.name) as Client;
    try {
      await check(client, driver);
    } catch (cause) {
      throw new Error(`over ${binding.name}: ${cause}`, { cause });
    } finally {
      driver.close();
    }
  });
  await Promise.all(runs);
}

describe("a server that is killed and started again", { timeout: 60_000 }, () => {
  it("runs a turn again whose agent wants that, for streams that go on", () =>
    forEach(async ({ wait }, driver) => {
      expect(wait.generation).toBe(2);
      expect(await wait.follow(resumed(driver, wait))).toEqual({ end: true });
      const task = await taskOf(driver, wait.taskId);
      expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
      expect(JSON.stringify(task.history)).toContain("Waiting again: attempt 2.");
    }));

  it("still has every event that a client was given, under its generation", () =>
    forEach(async ({ stream, subscription, wait }, driver) => {
      for (const story of [stream, subscription, wait]) {
        await settled(driver, story.taskId);
        const log = await logOf(driver, story.taskId);
        for (const [generation, event] of story.events) expect(log.events.get(generation)).toEqual(event);
      }
    }));

  it("has every generation once, from the first to that of the task", () =>
    forEach(async ({ stream }, driver) => {
      const task = await settled(driver, stream.taskId);
      const log = await logOf(driver, stream.taskId);
      const expected = Array.from({ length: generationIn(task) - 1 }, (_, i) => i + 2);
      expect([...log.events.keys()]).toEqual(expected);
    }));

  it("lets a client go on over every binding where its stream broke", () =>
    forEach(async ({ stream, subscription }, driver) => {
      for (const story of [stream, subscription]) {
        const before = story.generation;
        const ending = await story.follow(resumed(driver, story));
        expect(ending).toEqual({ end: true });
        expect(story.generation).toBeGreaterThan(before);
        expect(story.events).toEqual(eventsSince(await logOf(driver, story.taskId), story));
      }
    }));

  it("lets a client go on with Last-Event-ID, which needs no extension", async () => {
    const { stream } = clients[0] as Client;
    for (const name of ["rest", "jsonrpc"] as const) {
      const driver = bindings.find((binding) => binding.name === name)?.connect(server) as Driver;
      const log = await logOf(driver, stream.taskId);
      const tail = driver.stream("SubscribeToTask", { id: stream.taskId }, { headers: { "Last-Event-ID": "7" } });
      const { messages } = await tail.rest();
      expect(messages).toHaveLength(1 + log.generation - 7);
      driver.close();
    }
  });

  it("answers a blocking send that comes again under its key with the task of the first", () =>
    forEach(async ({ binding, blocking }, driver) => {
      // Some bindings report an error of the call, and some an error of the connection.
      const first = await blocking.catch(() => ({ message: undefined }));
      expect(first.message).toBeUndefined();
      const again = await driver.call("SendMessage", keptWaiting(binding), resuming({ "Idempotency-Key": binding }));
      expect(stateOf(again.message?.task as JsonObject)).toBe("TASK_STATE_COMPLETED");
      const { message } = await driver.call("ListTasks", { contextId: `blocking ${binding}` });
      expect(message?.totalSize).toBe(1);
    }));

  it("ends the stream of a send that comes again when its task waits for the client already", () =>
    forEach(async ({ binding, asked }, driver) => {
      const options = resuming({ "Idempotency-Key": `ask ${binding}` });
      const again = await driver.stream("SendStreamingMessage", say("ask Which colour?"), options).rest();
      expect(again).toMatchObject({ messages: [{ task: asked }] });
      expect(again.error).toBeUndefined();
    }));

  it("fails other tasks that it was killed in the middle of, says why, and keeps what they had", () =>
    forEach(async ({ stream }, driver) => {
      const task = await settled(driver, stream.taskId);
      expect(stateOf(task)).toBe("TASK_STATE_FAILED");
      expect(statusText(task)).toBe("The agent was stopped by a crash of the server before it finished.");
      const [{ parts }] = task.artifacts as [{ parts: { text: string }[] }];
      expect(parts.map(({ text }) => Number.parseInt(text, 10))).toEqual(parts.map((_, i) => i + 1));
      expect(parts).toHaveLength(generationIn(task) - 3);
    }));

  it("leaves a task that waits for its client as it was, and goes on with it", () =>
    forEach(async ({ asked }, driver) => {
      const id = String(asked.id);
      expect(await taskOf(driver, id)).toEqual(asked);
      const { message } = await driver.call("SendMessage", say("Blue.", { taskId: id }), resuming());
      const task = message?.task as JsonObject;
      expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
      expect(task.artifacts).toMatchObject([{ name: "answer", parts: [{ text: "Blue." }] }]);
    }));
});

/** Resumes a stream after the last event of a story. */
function resumed(driver: Driver, { taskId, generation }: Story): ReturnType<Driver["stream"]> {
  return driver.stream("SubscribeToTask", { id: taskId }, resuming({ "Parley-After-Generation": `${generation}` }));
}

/** The events of the log in the generations that a story covers. The story should have exactly these. */
function eventsSince(log: Story, story: Story): Map<number, JsonObject> {
  const [first = 0] = story.events.keys();
  return new Map([...log.events].filter(([generation]) => generation >= first));
}
