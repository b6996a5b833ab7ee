import { expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { completed, inputRequired } from "../../src/agent/event.js";
import { newId } from "../../src/core/ids.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { Spoken, say, sayNow, v1 } from "../version/v0.1/server.js";

/** Asks for more until it is told to end, or to be quiet. */
const agent: Omit<Agent, "card"> = {
  async *execute({ text, signal }) {
    if (text === "hush") await new Promise((resolve) => signal.addEventListener("abort", resolve));
    yield text === "end" ? completed() : inputRequired("What?");
  },
};

/** Calls that no operation waits for: leases, deliveries, and the number of open tasks, which is read once for an owner. */
const ownTime: ReadonlySet<string> = new Set([
  ...["heartbeat", "claimLeases", "leasesOf", "setLease", "countOpen"],
  ...["claimDeliveries", "rescheduleDeliveries", "nextDelivery"],
]);

/** A server over a store that notes its calls. */
class Counted {
  readonly #calls: string[] = [];
  readonly #spoken: Spoken;

  constructor() {
    const store = new Proxy(memoryStore(), {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (!ownTime.has(String(name))) this.#calls.push(String(name));
          return value.apply(target, args);
        };
      },
    }) as TaskStore;
    this.#spoken = new Spoken(agent, { store });
  }

  /** Begins a task that waits for its client, in 1.0, and gives its id. */
  async begin(headers: Record<string, string> = {}): Promise<string> {
    const { task } = await this.#spoken.result("SendMessage", sayNow("", "begin"), { ...v1, ...headers });
    return (task as { id: string }).id;
  }

  /**
   * Store calls that one request causes until its answer or first event. The boolean is true if the answer is
   * TASK_NOT_FOUND.
   */
  async asked(method: string, params: object, headers: Record<string, string>): Promise<[boolean, string[]]> {
    this.#calls.length = 0;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const reader = ((await this.#spoken.open(body, headers)).body as ReadableStream<Uint8Array>).getReader();
    const text = new TextDecoder().decode((await reader.read()).value);
    const calls = this.#calls.slice();
    await reader.cancel();
    return [text.includes('"code":-32001'), calls];
  }
}

const config = { url: "http://127.0.0.1:9/" };

type Row = [method: string, params: (id: string) => object, found: string[], notFound: string];

const operations: Row[] = [
  ["GetTask", (id) => ({ id }), ["load"], "load"],
  ["CancelTask", (id) => ({ id }), ["load", "append"], "load"],
  ["SubscribeToTask", (id) => ({ id }), ["load"], "load"],
  ["SendMessage", (id) => sayNow(id, "end"), ["load", "append", "append"], "load"],
  ["SendStreamingMessage", (id) => sayNow(id, "hush"), ["load", "append"], "load"],
  [
    "CreateTaskPushNotificationConfig",
    (taskId) => ({ taskId, id: "c", ...config }),
    ["head", "head", "putPushConfig"],
    "head",
  ],
  ["GetTaskPushNotificationConfig", (taskId) => ({ taskId, id: "c" }), ["head", "getPushConfig"], "head"],
  ["ListTaskPushNotificationConfigs", (taskId) => ({ taskId }), ["head", "listPushConfigs"], "head"],
  ["DeleteTaskPushNotificationConfig", (taskId) => ({ taskId, id: "c" }), ["head", "deletePushConfig"], "head"],
];

it.each(operations)(
  "%s of 1.0 asks the store once for a task that is not found",
  async (method, params, found, not) => {
    const counted = new Counted();
    const id = await counted.begin();
    // The stored configuration that is read.
    if (method.startsWith("Get")) {
      await counted.asked("CreateTaskPushNotificationConfig", { taskId: id, id: "c", ...config }, v1);
    }
    expect(await counted.asked(method, params(id), v1)).toEqual([false, found]);
    const hers = await counted.begin({ "x-owner": "bob" });
    expect(await counted.asked(method, params(hers), v1)).toEqual([true, [not]]);
    expect(await counted.asked(method, params(newId()), v1)).toEqual([true, [not]]);
    // It can only be a name of 0.1.
    expect(await counted.asked(method, params("nothing"), v1)).toEqual([true, ["head"]]);
  },
);

it("a message that begins a task asks the store for nothing, and a list for its page", async () => {
  const counted = new Counted();
  expect(await counted.asked("SendMessage", sayNow("", "begin"), v1)).toEqual([false, ["append", "append"]]);
  expect(await counted.asked("ListTasks", {}, v1)).toEqual([false, ["list", "loadMany"]]);
  expect(await counted.asked("ListTasks", {}, { ...v1, "x-owner": "bob" })).toEqual([false, ["list"]]);
});

it("a call of 0.1 looks for its name, and first for the id where it looks like one", async () => {
  const counted = new Counted();
  expect(await counted.asked("tasks/send", say("mine", "begin"), {})).toEqual([false, ["head", "append", "append"]]);
  const search = ["head", "head"];
  expect(await counted.asked("tasks/send", say("mine", "x"), {})).toEqual([
    false,
    [...search, "load", "append", "append"],
  ]);
  expect(await counted.asked("tasks/get", { id: "mine" }, {})).toEqual([false, [...search, "load"]]);
  expect(await counted.asked("GetTask", { id: "mine" }, v1)).toEqual([false, [...search, "load"]]);
  expect(await counted.asked("tasks/get", { id: "nothing" }, {})).toEqual([true, ["head"]]);
  expect(await counted.asked("tasks/get", { id: newId() }, {})).toEqual([true, ["head", "head"]]);
  expect(await counted.asked("tasks/get", { id: await counted.begin() }, {})).toEqual([false, ["head", "load"]]);
});
