import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { exchange } from "../cases/exchange.js";
import type { World } from "../cases/world.js";
import { begin, say } from "./begin.js";
import { seen, seenEvents } from "./seen.js";
import { isAsNative, type Speaker } from "./speakers.js";

const order = "I have ordered a new Android device for you. Your request number is R12443";

/** Actions of a client of one version on a task that a client of another version created. */
export const deeds: Readonly<Record<string, (world: World, creator: Speaker, other: Speaker) => Promise<void>>> = {
  async reads(world, creator, other) {
    const contextId = randomUUID();
    const taskId = await say(world, creator, { text: "hello", contextId });
    const task = seen(await exchange(other.get(taskId), world));
    expect(task).toEqual({ kind: "task", taskId, contextId, state: "completed", texts: ["hello"] });
  },
  async "follows up"(world, creator, other) {
    const taskId = await say(world, creator, { text: "buy me a new phone" });
    const task = seen(await exchange(other.send({ text: "Android", taskId }), world));
    expect(task).toMatchObject({ kind: "task", taskId, state: "completed", texts: [order] });
  },
  async "follows up with a stream"(world, creator, other) {
    const taskId = await say(world, creator, { text: "buy me a new phone" });
    const outcome = await exchange(other.stream({ text: "Android", taskId }), world);
    const events = seenEvents(outcome);
    expect(events.filter(({ kind }) => kind === "artifact")).toMatchObject([{ taskId, texts: [order] }]);
    expect(events.at(-1)).toMatchObject({ kind: "status", taskId, state: "completed", final: !isAsNative(other) });
    expect(outcome.ended).toBe(true);
  },
  async cancels(world, creator, other) {
    const taskId = await begin(world, creator, { text: "hold: for another" });
    expect(seen(await exchange(other.cancel(taskId), world))).toMatchObject({ taskId, state: "canceled" });
    expect(seen(await exchange(creator.get(taskId), world))).toMatchObject({ taskId, state: "canceled" });
  },
  async "subscribes to"(world, creator, other) {
    const taskId = await begin(world, creator, { text: "hold: for another" });
    const during = async (): Promise<void> => {
      expect(seen(await exchange(creator.cancel(taskId), world))).toMatchObject({ taskId, state: "canceled" });
    };
    const outcome = await exchange(other.subscribe(taskId), world, { during });
    const events = seenEvents(outcome);
    expect(new Set(events.map((event) => event.taskId))).toEqual(new Set([taskId]));
    expect(events.at(-1)).toMatchObject({ kind: "status", state: "canceled", final: !isAsNative(other) });
    expect(events.filter(({ final }) => final === true).length).toBe(isAsNative(other) ? 0 : 1);
    expect(outcome.ended).toBe(true);
  },
  async "reads the webhook of"(world, creator, other) {
    const taskId = await begin(world, creator, { text: "hold: for a webhook" });
    const config = { id: "theirs", url: world.webhook.urlOf(`/${randomUUID()}`) };
    const made = await exchange(creator.setPush(taskId, config), world);
    expect(JSON.stringify(made.body)).toContain(config.url);
    // A client of 0.1 does not know the id of a configuration that it creates.
    const all = other.listPush === undefined ? undefined : await exchange(other.listPush(taskId), world);
    if (all !== undefined) expect(JSON.stringify(all.body)).toContain(config.url);
    if (creator.version === "0.1" && other.version !== "0.1") return;
    expect(JSON.stringify((await exchange(other.getPush(taskId, "theirs"), world)).body)).toContain(config.url);
  },
};
