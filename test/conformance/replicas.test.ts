import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, inputRequired, working } from "../../src/agent/event.js";
import { createServer, type Server } from "../../src/index.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { resuming, Story, stateOf } from "../e2e/support/story.js";
import { Receiver } from "../push/receiver.js";
import { programs, thePostgres } from "../store/postgres/server.js";
import type { Address, CallOptions, Driver } from "../support/driver.js";
import { type Binding, bindings } from "../support/drivers.js";
import { Gates } from "../support/gates.js";

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const gates = new Gates();

/** Turns with the server that ran them, as `server text`. */
const turns: string[] = [];

/** The agent of a server. It never ends a task, so that a message that arrived in the meantime gets its turn. */
function agentOf(server: string): Agent {
  return {
    card: { name: "Replica", description: "One of two servers.", version: "1.0.0" },
    recover: () => "restart",
    async *execute(turn) {
      turns.push(`${server} ${turn.text}`);
      const [command, name = ""] = turn.text.split(" ");
      if (command === "ask") return yield inputRequired("Which?");
      yield working();
      if (command === "hold") await gates.pass(name, turn.signal);
      if (turn.signal.aborted) return;
      const parts = command === "hold" ? 3 : 1;
      for (let i = 0; i < parts; i++) yield artifact({ name: `${command} ${i}`, text: turn.text });
    },
  };
}

/** Both stores that processes share. */
const stores: [string, () => () => Promise<TaskStore>][] = [
  [
    "a SQLite file",
    () => {
      const folder = mkdtempSync(join(tmpdir(), "parley-"));
      process.once("exit", () => rmSync(folder, { recursive: true }));
      const path = join(folder, "tasks.db");
      return async () => sqliteStore({ path, shared: true, synchronous: "NORMAL" });
    },
  ],
];
if (programs() !== undefined) {
  const schema = `replicas_${process.pid}`;
  stores.push(["PostgreSQL", () => () => postgresStore({ url: thePostgres().url, schema, require: "none" })]);
}

/** A server with its own store, like a separate process. */
class Replica {
  readonly #server: Server;
  readonly #store: TaskStore;

  private constructor(server: Server, store: TaskStore) {
    this.#server = server;
    this.#store = store;
  }

  static async start(name: string, open: () => Promise<TaskStore>, receiver: Receiver): Promise<Replica> {
    const store = await open();
    const server = await createServer({
      agent: agentOf(name),
      ...{ store, host: "127.0.0.1", port: 0, grpcPort: 0 },
      limits: { shutdownGraceMs: 50 },
      leaseMs: 2_000,
      push: { allowHttp: true, allow: ["127.0.0.1"], ports: [receiver.port] },
    });
    return new Replica(server, store);
  }

  get address(): Address {
    return { url: `http://127.0.0.1:${this.#server.port}`, grpcPort: this.#server.grpcPort ?? 0 };
  }

  async stop(): Promise<void> {
    await this.#server.close();
    await this.#store.close();
  }
}

/** Names that are unique to a case. */
const unique = (what: string): string => `${what}-${randomUUID()}`;

function message(text: string, more: JsonObject = {}, configuration: JsonObject = {}): JsonObject {
  return { message: { messageId: unique("m"), role: "ROLE_USER", parts: [{ text }], ...more }, configuration };
}

const atOnce = { returnImmediately: true };

/** Makes a call that has to succeed. Returns its answer. */
async function ok(driver: Driver, rpc: string, request: JsonObject, options?: CallOptions): Promise<JsonObject> {
  const { message: answer, error } = await driver.call(rpc, request, options);
  expect(error, `${driver.name} ${rpc}`).toBeUndefined();
  return answer as JsonObject;
}

async function send(driver: Driver, request: JsonObject, options?: CallOptions): Promise<JsonObject> {
  const { task } = await ok(driver, "SendMessage", request, options);
  return task as JsonObject;
}

/** Waits for a condition. `expect.poll` does not support concurrent tests. */
function until(isSo: () => Promise<boolean>): Promise<unknown> {
  return vi.waitUntil(isSo, { timeout: 30_000, interval: 20 });
}

const completed = (driver: Driver, id: string): Promise<unknown> =>
  until(async () => stateOf(await ok(driver, "GetTask", { id })) === "TASK_STATE_COMPLETED");

const artifactsOf = (task: JsonObject): string[] =>
  ((task.artifacts ?? []) as JsonObject[]).map(({ name }) => `${name}`);

/** Starts a task that waits at a gate. */
async function hold(driver: Driver): Promise<{ id: string; gate: string; text: string }> {
  const gate = unique("gate");
  const text = `hold ${gate}`;
  const { id } = await send(driver, message(text, {}, atOnce));
  await gates.reached(gate);
  // The agent continues before its status is stored. The other server reads the stored status.
  await until(async () => stateOf(await ok(driver, "GetTask", { id: String(id) })) === "TASK_STATE_WORKING");
  return { id: String(id), gate, text };
}

/** Two servers of a case: `here` runs the task, and `there` receives the later calls. */
interface Pair {
  readonly here: Driver;
  readonly there: Driver;
  readonly receiver: Receiver;
}

/** Servers that ran a turn for one of these texts. */
const hadTurns = (...texts: string[]): string[] =>
  turns.filter((turn) => texts.includes(turn.slice(turn.indexOf(" ") + 1)));

const cases: Record<string, (pair: Pair) => Promise<void>> = {
  async "a follow-up and its sender, who waits, while the turn runs"({ here, there }) {
    const { id, gate, text } = await hold(here);
    const next = unique("echo");
    const answer = send(there, message(next, { taskId: id }));
    await until(async () => JSON.stringify(await ok(here, "GetTask", { id })).includes(next));
    gates.open(gate);
    const task = await answer;
    expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
    expect(artifactsOf(task)).toContain(`${next.split(" ")[0]} 0`);
    // The server that runs the task also ran the follow-up, once.
    const [first, second, ...more] = hadTurns(text, next);
    expect([first?.endsWith(text), second?.endsWith(next), more]).toEqual([true, true, []]);
    expect(second?.split(" ")[0]).toBe(first?.split(" ")[0]);
  },

  async "a follow-up whose sender does not wait, while the turn runs"({ here, there }) {
    const { id, gate } = await hold(here);
    const next = unique("echo");
    const task = await send(there, message(next, { taskId: id }, atOnce));
    expect(stateOf(task)).toBe("TASK_STATE_WORKING");
    expect(artifactsOf(task)).toEqual([]);
    gates.open(gate);
    await completed(there, id);
    expect(hadTurns(next)).toHaveLength(1);
  },

  async "a follow-up with a stream, while the turn runs"({ here, there }) {
    const { id, gate } = await hold(here);
    const next = unique("echo");
    const stream = there.stream("SendStreamingMessage", message(next, { taskId: id }));
    await stream.next();
    gates.open(gate);
    const { messages, error } = await stream.rest();
    expect(error).toBeUndefined();
    expect(JSON.stringify(messages)).toContain(next);
    expect(JSON.stringify(messages.at(-1))).toContain("TASK_STATE_COMPLETED");
    expect(hadTurns(next)).toHaveLength(1);
  },

  async "a follow-up in the moment in which the turn ends"({ here, there }) {
    for (let round = 0; round < 3; round++) {
      const { id, gate } = await hold(here);
      const next = unique("echo");
      gates.open(gate);
      await sleep(round * 3);
      const { message: answer, error } = await there.call("SendMessage", message(next, { taskId: id }));
      const accepted = answer?.task as JsonObject | undefined;
      if (accepted === undefined) {
        // The task has ended without the message.
        expect(error?.reason).toBe("UNSUPPORTED_OPERATION");
        expect(JSON.stringify(await ok(here, "GetTask", { id }))).not.toContain(next);
      } else expect(stateOf(accepted)).toBe("TASK_STATE_COMPLETED");
      expect(hadTurns(next)).toHaveLength(accepted === undefined ? 0 : 1);
    }
  },

  async "an answer to a question"({ here, there }) {
    const asked = await send(here, message("ask"));
    expect(stateOf(asked)).toBe("TASK_STATE_INPUT_REQUIRED");
    const [next, id] = [unique("echo"), String(asked.id)];
    const task = await send(there, message(next, { taskId: id }));
    expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
    expect(await ok(here, "GetTask", { id })).toEqual(await ok(there, "GetTask", { id }));
    expect(hadTurns(next)).toHaveLength(1);
  },

  async "answers to a question that come to both at once"({ here, there }) {
    const id = String((await send(here, message("ask"))).id);
    const texts = [unique("echo"), unique("echo")];
    const answers = await Promise.all(
      [here, there].map((driver, i) => driver.call("SendMessage", message(texts[i] ?? "", { taskId: id }))),
    );
    const accepted = texts.filter((_, i) => answers[i]?.error === undefined);
    expect(accepted.length).toBeGreaterThan(0);
    for (const text of texts) expect(hadTurns(text)).toHaveLength(accepted.includes(text) ? 1 : 0);
    for (const { error } of answers) if (error !== undefined) expect(error.reason).toBe("UNSUPPORTED_OPERATION");
  },

  async "streams from the start, from a generation, and from the end"({ here, there }) {
    const { id, gate } = await hold(here);
    const stories = [1, 2].map((generation) => {
      const story = new Story();
      const after = resuming({ "Parley-After-Generation": `${generation}` });
      return { story, generation, ending: story.follow(there.stream("SubscribeToTask", { id }, after)) };
    });
    const plain = there.stream("SubscribeToTask", { id });
    expect(await plain.next()).toMatchObject({ message: { task: { id } } });
    gates.open(gate);
    for (const { story, generation, ending } of stories) {
      expect(await ending).toEqual({ end: true });
      expect([...story.events.keys()]).toEqual([2, 3, 4, 5, 6].filter((each) => each > generation));
      expect(story.state).toBe("TASK_STATE_COMPLETED");
    }
    const { messages, error } = await plain.rest();
    expect([error, messages.length]).toEqual([undefined, 4]);
    for (const generation of ["1", "4", "6"]) {
      const late = resuming({ "Parley-After-Generation": generation });
      const [one, two] = await Promise.all(
        [here, there].map((driver) => driver.stream("SubscribeToTask", { id }, late).rest()),
      );
      expect(two?.messages).toEqual(one?.messages);
      expect(two?.error?.reason).toBe(one?.error?.reason);
    }
  },

  async "a task and its list, right after it was acknowledged"({ here, there }) {
    for (let round = 0; round < 3; round++) {
      const contextId = unique("context");
      const task = await send(here, message(unique("echo"), { contextId }));
      const [got, list] = await Promise.all([
        ok(there, "GetTask", { id: String(task.id) }),
        ok(there, "ListTasks", { contextId, includeArtifacts: true }),
      ]);
      expect(stateOf(got)).toBe("TASK_STATE_COMPLETED");
      expect(artifactsOf(got)).toHaveLength(1);
      expect((list.tasks as JsonObject[]).map(({ id }) => id)).toEqual([task.id]);
      const asked = await send(here, message("ask", { contextId }));
      const { tasks } = await ok(there, "ListTasks", { contextId, status: "TASK_STATE_INPUT_REQUIRED" });
      expect((tasks as JsonObject[]).map(({ id }) => id)).toEqual([asked.id]);
    }
  },

  async "one task for one key that comes to both at once"({ here, there }) {
    const next = unique("echo");
    const request = message(next);
    const options = { headers: { "Idempotency-Key": unique("key") } };
    const tasks = await Promise.all([here, there, here, there].map((driver) => send(driver, request, options)));
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    expect(hadTurns(next)).toHaveLength(1);
    const other = await there.call("SendMessage", message(unique("echo")), options);
    expect(other.error?.reason).toBe("IDEMPOTENCY_KEY_REUSED");
  },

  async "a push configuration that one sets and the other deletes"({ here, there, receiver }) {
    const { id, gate } = await hold(here);
    const path = `/${unique("hook")}`;
    const made = await ok(there, "CreateTaskPushNotificationConfig", { taskId: id, url: receiver.url(path) });
    const key = { taskId: id, id: String(made.id) };
    expect(await ok(here, "GetTaskPushNotificationConfig", key)).toEqual(made);
    // The webhook also receives events of the other server's agent, up to a question.
    gates.open(gate);
    await until(async () => receiver.of(path).at(-1)?.generation === 6);
    expect(new Set(receiver.of(path).map((hit) => hit.id)).size).toBe(receiver.of(path).length);

    const second = await hold(here);
    const other = `/${unique("hook")}`;
    const config = await ok(there, "CreateTaskPushNotificationConfig", { taskId: second.id, url: receiver.url(other) });
    await ok(here, "DeleteTaskPushNotificationConfig", { taskId: second.id, id: String(config.id) });
    const { configs = [] } = await ok(there, "ListTaskPushNotificationConfigs", { taskId: second.id });
    expect(configs).toEqual([]);
    const before = receiver.of(other).length;
    gates.open(second.gate);
    await completed(there, second.id);
    expect(receiver.of(other).length).toBe(before);
  },
};

/** Each binding at the first server, with another one at the second. */
const pairs = bindings.map((binding, i): [Binding, Binding] => [
  binding,
  bindings[(i + 1) % bindings.length] as Binding,
]);

describe.each(stores)("two servers on %s", (_, opener) => {
  const open = opener();
  let receiver: Receiver;
  let replicas: Replica[] = [];
  const drivers: Driver[] = [];

  beforeAll(async () => {
    receiver = await Receiver.start();
    replicas = await Promise.all(["one", "two"].map((name) => Replica.start(name, open, receiver)));
  });
  afterAll(async () => {
    for (const driver of drivers) driver.close();
    await Promise.all(replicas.map((replica) => replica.stop()));
    await receiver.stop();
  });

  const connect = (binding: Binding, replica: Replica | undefined): Driver => {
    const driver = binding.connect((replica as Replica).address);
    drivers.push(driver);
    return driver;
  };

  describe.each(pairs.map(([here, there]) => [here.name, there.name, here, there] as const))(
    "over %s and %s",
    (_, __, here, there) => {
      it.concurrent.each(Object.entries(cases))("share %s", async (_, run) => {
        await run({ here: connect(here, replicas[0]), there: connect(there, replicas[1]), receiver });
      });
    },
  );

  it("continue their work when each is restarted in turn", async () => {
    const binding = bindings[0] as Binding;
    const [one, two] = [connect(binding, replicas[0]), connect(binding, replicas[1])];
    const asked = await send(one, message("ask"));
    const held = await hold(one);
    await replicas[0]?.stop();
    replicas[0] = await Replica.start("one-again", open, receiver);
    const answer = unique("echo");
    const done = await send(two, message(answer, { taskId: String(asked.id) }));
    expect(stateOf(done)).toBe("TASK_STATE_COMPLETED");
    // The held task completes before the other server stops, because that server may have taken the task over.
    gates.open(held.gate);
    await completed(connect(binding, replicas[0]), held.id);
    const later = await hold(two);
    await replicas[1]?.stop();
    replicas[1] = await Replica.start("two-again", open, receiver);
    gates.open(later.gate);
    await completed(connect(binding, replicas[1]), later.id);
    // The interrupted turn ran a second time.
    for (const { text } of [held, later]) expect(hadTurns(text)).toHaveLength(2);
    expect(hadTurns(answer)).toHaveLength(1);
  });
});
