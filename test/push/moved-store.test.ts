import { describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { StoreHistory } from "../../src/store/history.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { AppendRequest, TaskStore } from "../../src/store/task-store.js";
import { Gates } from "../support/gates.js";
import { type Answer, accept, type Receiver, receive } from "./receiver.js";
import { chunk, Log, Rig, status } from "./rig.js";

const patience = { timeout: 20_000, interval: 10 };

/** A store that moves to a standby, which has only the appends before `keep`. */
class Moving {
  readonly store: TaskStore;
  readonly #standby = memoryStore();
  readonly #appends: AppendRequest[] = [];
  readonly #listeners: (() => Promise<void>)[] = [];
  #current = memoryStore();
  #moves = 0;

  constructor() {
    this.store = new Proxy(this.#current, {
      get: (_, name) => {
        if (name === "history") return this.#history;
        const value: unknown = Reflect.get(this.#current, name);
        if (name !== "append") return value;
        return (request: AppendRequest) => {
          this.#appends.push(request);
          return this.#current.append(request);
        };
      },
    });
  }

  /** Brings the standby to the present state, with all that is there delivered. */
  async keep(): Promise<void> {
    for (const request of this.#appends) await this.#standby.append(request);
    const holder = "before";
    const claimed = await this.#standby.claimDeliveries({ holder, leaseMs: 1_000, now: Date.now() + 1, limit: 10 });
    for (const { taskId, configId, claim, headPosition } of claimed) {
      const key = { taskId, configId };
      await this.#standby.completeDelivery({ key, holder, claim, position: headPosition, outcome: { kind: "done" } });
    }
  }

  async move(): Promise<void> {
    this.#current = this.#standby;
    this.#moves++;
    await Promise.all(this.#listeners.map((listener) => listener()));
  }

  get #history(): StoreHistory {
    const listen = (listener: () => Promise<void>): (() => void) => {
      this.#listeners.push(listener);
      return () => {};
    };
    return { moves: this.#moves, onMove: listen };
  }
}

const texts = (receiver: Receiver): string[] =>
  receiver.of("/a").flatMap(({ body }) => /"text":"([^"]*)"/.exec(body)?.[1] ?? []);

/** Events up to the sixth, which are delivered and on the standby, when the seventh comes. */
async function world(store: TaskStore, moving: Moving, answer: Answer = accept) {
  const receiver = await receive(answer);
  const one = await new Rig(store, { receivers: [receiver], limits: { pushTimeoutMs: 600_000 } }).start();
  const log = await Log.create(
    store,
    [receiver.url("/a")],
    ["2", "3", "4", "5", "6"].map((text) => chunk(text)),
  );
  one.news();
  const state = async () => (await store.listDeliveries({ taskId: log.head.taskId, limit: 10 })).deliveries[0]?.state;
  const delivered = (): Promise<void> => expect.poll(state, patience).toBe("idle");
  await delivered();
  await moving.keep();
  const kept = log.head;
  const append = async (...more: string[]): Promise<void> => {
    await log.append(more.map((text) => chunk(text)));
    one.news();
  };
  const move = async (): Promise<void> => {
    await moving.move();
    log.head = kept;
  };
  return { receiver, append, delivered, move };
}

describe("after its store has moved to a server that lacks the last events, a dispatcher", () => {
  it("sends those that come instead of the one that it was sending", async () => {
    const gates = new Gates();
    const moving = new Moving();
    const { store } = moving;
    const hold: Answer = (hit, response, request) => {
      if (hit.body.includes('"seventh"')) void gates.pass("answer").then(() => accept(hit, response, request));
      else accept(hit, response, request);
    };
    const { receiver, append, move } = await world(store, moving, hold);
    await append("seventh", "eighth");
    await gates.reached("answer");
    await move();
    await append("another seventh", "another eighth");
    await expect.poll(() => store.nextDelivery(), patience).toBeUndefined();
    // The answer to the claim is here as well.
    await new Promise((resolve) => setImmediate(resolve));
    gates.open("answer");
    const sent = ["2", "3", "4", "5", "6", "seventh", "another seventh", "another eighth"];
    await expect.poll(() => texts(receiver), patience).toEqual(sent);
  });

  it("does not continue from a claim that the previous server answered meanwhile", async () => {
    const gates = new Gates();
    const moving = new Moving();
    let holds = false;
    const store = new Proxy(moving.store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name !== "claimDeliveries") return value;
        return async (request: Parameters<TaskStore["claimDeliveries"]>[0]) => {
          const claimed = await (value as TaskStore["claimDeliveries"])(request);
          if (holds && claimed.length > 0) {
            holds = false;
            await gates.pass("answer");
          }
          return claimed;
        };
      },
    });
    const { receiver, append, delivered, move } = await world(store, moving);
    await append("seventh", "eighth");
    await delivered();
    holds = true;
    await append("ninth");
    await gates.reached("answer");
    await move();
    await append("another seventh", "another eighth", "another ninth");
    gates.open("answer");
    const lost = ["seventh", "eighth"];
    const sent = ["2", "3", "4", "5", "6", ...lost, "another seventh", "another eighth", "another ninth"];
    await expect.poll(() => texts(receiver), patience).toEqual(sent);
  });

  it("folds none of the lost events into the tasks that it sends", async () => {
    const moving = new Moving();
    const { store } = moving;
    const receiver = await receive();
    const write = (task: Task): string => JSON.stringify(task.artifacts.map(({ parts }) => parts[0]?.content.value));
    const dialect = { mediaType: "application/json", write, isSigned: () => false };
    const one = await new Rig(store, { receivers: [receiver], dialectOf: async () => dialect }).start();
    const log = await Log.create(store, []);
    await moving.keep();
    const kept = log.head;
    const append = async (text: string): Promise<void> => {
      await log.append([chunk(text), status(TaskState.WORKING)]);
      one.news();
    };
    await log.configure(receiver.url("/a"), "0.9");
    await append("lost");
    await expect.poll(() => receiver.hits.map(({ body }) => body), patience).toEqual(['["lost"]']);
    await moving.move();
    log.head = kept;
    await log.configure(receiver.url("/a"), "0.9");
    await append("new");
    await expect.poll(() => receiver.hits.map(({ body }) => body), patience).toEqual(['["lost"]', '["new"]']);
  });
});
