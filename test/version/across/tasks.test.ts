import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchange } from "../cases/exchange.js";
import { openWorld } from "../cases/world.js";
import { begin, say } from "./begin.js";
import { seen, seenEvents } from "./seen.js";
import { type Speaker, speakers, withHeaders } from "./speakers.js";

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const order = "I have ordered a new Android device for you. Your request number is R12443";

/** What a client of one version does with a task that one of another began. */
const deeds: Readonly<Record<string, (creator: Speaker, other: Speaker) => Promise<void>>> = {
  async reads(creator, other) {
    const contextId = randomUUID();
    const taskId = await say(world, creator, { text: "hello", contextId });
    const task = seen(await exchange(other.get(taskId), world));
    expect(task).toEqual({ kind: "task", taskId, contextId, state: "completed", texts: ["hello"] });
  },
  async "follows up"(creator, other) {
    const taskId = await say(world, creator, { text: "buy me a new phone" });
    const task = seen(await exchange(other.send({ text: "Android", taskId }), world));
    expect(task).toMatchObject({ kind: "task", taskId, state: "completed", texts: [order] });
  },
  async "follows up with a stream"(creator, other) {
    const taskId = await say(world, creator, { text: "buy me a new phone" });
    const outcome = await exchange(other.stream({ text: "Android", taskId }), world);
    const events = seenEvents(outcome);
    expect(events.filter(({ kind }) => kind === "artifact")).toMatchObject([{ taskId, texts: [order] }]);
    expect(events.at(-1)).toMatchObject({ kind: "status", taskId, state: "completed", final: other.version !== "1.0" });
    expect(outcome.ended).toBe(true);
  },
  async cancels(creator, other) {
    const taskId = await begin(world, creator, { text: "hold: for another" });
    expect(seen(await exchange(other.cancel(taskId), world))).toMatchObject({ taskId, state: "canceled" });
    expect(seen(await exchange(creator.get(taskId), world))).toMatchObject({ taskId, state: "canceled" });
  },
  async "subscribes to"(creator, other) {
    const taskId = await begin(world, creator, { text: "hold: for another" });
    const during = async (): Promise<void> => {
      expect(seen(await exchange(creator.cancel(taskId), world))).toMatchObject({ taskId, state: "canceled" });
    };
    const outcome = await exchange(other.subscribe(taskId), world, { during });
    const events = seenEvents(outcome);
    expect(new Set(events.map((event) => event.taskId))).toEqual(new Set([taskId]));
    expect(events.at(-1)).toMatchObject({ kind: "status", state: "canceled", final: other.version !== "1.0" });
    expect(events.filter(({ final }) => final === true).length).toBe(other.version === "1.0" ? 0 : 1);
    expect(outcome.ended).toBe(true);
  },
  async "reads the webhook of"(creator, other) {
    const taskId = await begin(world, creator, { text: "hold: for a webhook" });
    const config = { id: "theirs", url: world.webhook.urlOf(`/${randomUUID()}`) };
    const made = await exchange(creator.setPush(taskId, config), world);
    expect(JSON.stringify(made.body)).toContain(config.url);
    // What a client of 0.1 makes has an id that it does not know.
    const all = other.listPush === undefined ? undefined : await exchange(other.listPush(taskId), world);
    if (all !== undefined) expect(JSON.stringify(all.body)).toContain(config.url);
    if (creator.version === "0.1" && other.version !== "0.1") return;
    expect(JSON.stringify((await exchange(other.getPush(taskId, "theirs"), world)).body)).toContain(config.url);
  },
};

describe.each(Object.keys(deeds))("a client %s a task that another version began", (deed) => {
  for (const creator of speakers) {
    for (const other of speakers) {
      it(`${other.name}, begun by ${creator.name}`, async () => deeds[deed]?.(creator, other));
    }
  }
});

describe("methods that several versions have", () => {
  const [asked] = speakers.filter(({ name }) => name === "0.3 over JSON-RPC");
  for (const creator of speakers) {
    for (const header of [undefined, "0.3", "0.2", "0.1"]) {
      const isOld = header === "0.1" || (header === undefined && creator.version === "0.1");
      const shape = isOld ? "0.1" : "0.3";
      const title = `answer a task of ${creator.name} in the shape of ${shape} where A2A-Version is ${header}`;
      it(title, async () => {
        const taskId = await say(world, creator, { text: "hello" });
        const request = asked?.get(taskId) as ReturnType<Speaker["get"]>;
        const named = header === undefined ? request : withHeaders(request, { "A2A-Version": header });
        const { body } = await exchange(named, world);
        expect(body).toMatchObject({
          result: isOld ? { id: taskId, sessionId: expect.any(String) } : { kind: "task" },
        });
        expect(Object.hasOwn((body as { result: object }).result, "kind")).toBe(!isOld);
      });
    }
  }
});

it("a list of 1.0 has the tasks of every version", async () => {
  const contextId = randomUUID();
  const ids: string[] = [];
  for (const speaker of speakers) ids.push(await say(world, speaker, { text: "hello", contextId }));
  const [first] = speakers;
  const request = first?.get("") as ReturnType<Speaker["get"]>;
  const body = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: { contextId } };
  const listed = await exchange({ ...request, body }, world);
  const { result } = listed.body as { result: { tasks: { id: string }[] } };
  expect(result.tasks.map(({ id }) => id).sort()).toEqual(ids.sort());
});
