import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Hit, Receiver } from "../push/receiver.js";
import { scaled } from "../support/cover.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { generationIn, logOf, resuming, say, settled } from "./support/story.js";

const patience = { timeout: 120_000, interval: 100 };
const [binding] = bindings;

let receiver: Receiver;
let home: Home;

beforeEach(async () => {
  receiver = await Receiver.start((_, response) => void setTimeout(() => response.writeHead(204).end(), 1));
});

afterEach(async () => {
  await home.leave();
  await receiver.stop();
});

function settle(...flags: string[]): void {
  const limits = ["--max-deliveries-per-host", "32", "--max-deliveries-per-host-per-second", "100000"];
  const push = ["--push", "--push-allow-http", "--push-ports", `${receiver.port}`, "--push-allow", "127.0.0.1"];
  home = new Home(...push, ...limits, "--max-push-retry", "200ms", ...flags);
}

const connect = (server: ServerProcess): Driver => binding?.connect(server) as Driver;

/** Sends what creates a task with two webhooks that are named after it. Whether it was accepted the receiver tells. */
async function order(driver: Driver, name: string, text: string): Promise<void> {
  const taskPushNotificationConfig = { url: receiver.url(`/${name}/a`) };
  const request = {
    ...say(text, { contextId: name }),
    configuration: { returnImmediately: true, taskPushNotificationConfig },
  };
  const { message } = await driver.call("SendMessage", request, resuming());
  const { id } = (message as { task: JsonObject }).task;
  const second = { taskId: String(id), url: receiver.url(`/${name}/b`) };
  await driver.call("CreateTaskPushNotificationConfig", second, resuming());
}

const paths = (): string[] => [...new Set(receiver.hits.map(({ path }) => path))];

function eventOf(hit: Hit): JsonObject {
  return Object.values(JSON.parse(hit.body) as Record<string, JsonObject>)[0] ?? {};
}

/** What is wrong with what came for a webhook, by what its task has. */
function faultOf(path: string, generation: number): string | undefined {
  const hits = receiver.of(path);
  const bodies = new Map<string, string>();
  let next = path.endsWith("/a") ? 1 : (hits[0]?.generation ?? 1);
  for (const { id, generation: came, body } of hits) {
    if (came > next) return `${came} came before ${next}`;
    if (came === next) {
      if (bodies.has(id)) return `${came} has the id of another event`;
      bodies.set(id, body);
      next++;
    } else if (bodies.get(id) !== body) return `${came} came again under another id, or as another event`;
  }
  return next === generation + 1 ? undefined : `${next} to ${generation} never came`;
}

/** Waits until all tasks are over and every webhook has heard of it, then compares all that came with the tasks' logs. */
async function expectAll(driver: Driver): Promise<number> {
  const ids = new Map<string, string>();
  for (const path of paths()) {
    const event = eventOf(receiver.of(path)[0] as Hit);
    ids.set(path, String(event.taskId ?? event.id));
  }
  const generations = new Map<string, number>();
  for (const id of new Set(ids.values())) generations.set(id, generationIn(await settled(driver, id)));
  for (const [path, id] of ids) {
    const generation = generations.get(id) ?? 0;
    await expect.poll(() => receiver.of(path).at(-1)?.generation, patience).toBe(generation);
    expect(faultOf(path, generation), path).toBeUndefined();
  }
  // One task's notifications are what its log has.
  const [path = "", id = ""] = [...ids].find(([each]) => each.endsWith("/a")) ?? [];
  const { events } = await logOf(driver, id);
  const sent = new Map(receiver.of(path).map((hit) => [hit.generation, JSON.stringify(withoutMetadata(eventOf(hit)))]));
  for (const [generation, event] of events) {
    const [shown] = Object.values(event) as JsonObject[];
    expect(sent.get(generation)).toBe(JSON.stringify(withoutMetadata(shown ?? {})));
  }
  return [...generations.values()].reduce((sum, each) => sum + each, 0);
}

/** The stream's events have their generation in the metadata. */
function withoutMetadata({ metadata: _, ...event }: JsonObject): JsonObject {
  return event;
}

describe("servers that are killed in the middle of thousands of deliveries", { timeout: 400_000 }, () => {
  it("have every configuration get every event, in order, and repeats under their ids", async () => {
    settle();
    const rounds = scaled(3, 6);
    for (let round = 0; round < rounds; round++) {
      const server = await home.start();
      const driver = connect(server);
      const orders = Promise.all(
        Array.from({ length: 20 }, (_, i) => order(driver, `${round}-${i}`, "stream 60 16 5")),
      ).catch(() => {});
      const before = receiver.hits.length;
      // In the middle of it, each time at another place.
      await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(before + 300 + 173 * round);
      await server.kill();
      await orders;
      driver.close();
    }
    const server = await home.start();
    const driver = connect(server);
    expect(paths().length).toBeGreaterThan(rounds * 10);
    const events = await expectAll(driver);
    expect(events).toBeGreaterThan(rounds * 334);
    expect(receiver.overlaps).toBe(0);
    // Some were sent when the server was killed, and are sent again.
    expect(new Set(receiver.hits.map(({ id }) => id)).size).toBeLessThan(receiver.hits.length);
    driver.close();
    expect(await server.stop()).toMatchObject({ code: 0 });
  });
});

describe("two servers on one file", { timeout: 400_000 }, () => {
  it("never send one event at the same time, though one is stopped for longer than its lease and goes on", async () => {
    settle("--shared", "--lease", "2s");
    const [one, two] = await Promise.all([home.start(), home.start()]);
    const [here, there] = [connect(one), connect(two)];
    const send = (driver: Driver, name: string): Promise<unknown> =>
      Promise.all(Array.from({ length: 15 }, (_, i) => order(driver, `${name}-${i}`, "stream 100 16 20")));
    for (const [round, stopped] of [one, two, one].entries()) {
      await Promise.all([send(here, `${round}-here`), send(there, `${round}-there`)]);
      await expect.poll(() => paths().length, patience).toBe((round + 1) * 60);
      stopped.signal("SIGSTOP");
      await sleep(6_000);
      stopped.signal("SIGCONT");
      await sleep(500);
    }
    await expectAll(there);
    expect(receiver.overlaps).toBe(0);
    here.close();
    there.close();
  });

  it("go on with what the other was killed in, each event in order, and never at the same time", async () => {
    settle("--shared", "--lease", "2s");
    let [one, two] = await Promise.all([home.start(), home.start()]);
    let sent = 0;
    for (let round = 0; round < 4; round++) {
      const [here, there] = [connect(one), connect(two)];
      const orders = [here, there].flatMap((driver, at) =>
        Array.from({ length: 10 }, (_, i) => order(driver, `${round}-${at}-${i}`, "stream 60 16 10")),
      );
      sent += 20;
      // Those of the one that is killed may not have been answered.
      const settledOrders = Promise.allSettled(orders);
      const before = receiver.hits.length;
      await expect.poll(() => receiver.hits.length, patience).toBeGreaterThan(before + 200 + 150 * round);
      await one.kill();
      await settledOrders;
      for (const driver of [here, there]) driver.close();
      [one, two] = [two, await home.start()];
    }
    expect(paths().length).toBeGreaterThan(sent);
    const driver = connect(one);
    await expectAll(driver);
    expect(receiver.overlaps).toBe(0);
    driver.close();
  });
});
