import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Driver } from "../support/driver.js";
import { type Binding, bindings } from "../support/drivers.js";
import { LoadClient, mayEndIn, type Order } from "./support/load.js";
import { Home, type ServerProcess, within } from "./support/server-process.js";
import { generationIn, logOf, stateOf, taskOf } from "./support/story.js";

const rounds = 15;

/** No round begins after this time, in milliseconds, so that a slow machine has fewer of them. */
const enough = 35_000;

/** Clients at the same time on each binding. */
const perBinding = 2;

/** Tasks of earlier rounds that are looked at again in each round, besides those of the last one. */
const sample = 25;

const home = new Home("--lease-ms", "300", "--log-level", "error");
const clients = bindings.flatMap((binding) =>
  Array.from({ length: perBinding }, (_, i) => ({ binding, load: new LoadClient(`${binding.name} ${i}`) })),
);
const problems: string[] = [];
let logged = "";

const isOpen = ({ acknowledged }: Order): boolean => acknowledged === undefined;
const allOrders = (): Order[] => clients.flatMap(({ load }) => load.orders);

/** Lets all clients load a server until it is killed after a while. */
async function round(number: number): Promise<void> {
  const server = await home.start();
  const drivers = clients.map(({ binding }) => binding.connect(server));
  const checked = checkKnown(server, number);
  const running = clients.map(({ load }, i) => load.run(drivers[i] as Driver));
  await checked;
  // Another moment each time, after few calls and after many.
  await new Promise((resolve) => setTimeout(resolve, (number * 137) % 700));
  await server.kill();
  const outcomes = await Promise.allSettled(running);
  for (const outcome of outcomes) if (outcome.status === "rejected") problems.push(String(outcome.reason));
  for (const driver of drivers) driver.close();
  logged += server.log;
}

/** Looks whether what was acknowledged in earlier rounds is there as it was. */
async function checkKnown(server: ServerProcess, number: number): Promise<void> {
  const known = allOrders().filter((order) => !isOpen(order));
  const picked = [...known.slice(-sample), ...known.filter((_, i) => i % rounds === number).slice(0, sample)];
  await withDriver(server, number, async (driver) => {
    for (const order of picked) {
      const task = await taskOf(driver, String(order.acknowledged?.id));
      if (!sameJson(task, order.acknowledged)) {
        problems.push(
          `${order.key} was acknowledged as ${JSON.stringify(order.acknowledged)}, is ${JSON.stringify(task)}`,
        );
      }
    }
  });
}

async function withDriver(
  server: ServerProcess,
  number: number,
  work: (driver: Driver) => Promise<void>,
): Promise<void> {
  const driver = (bindings[number % bindings.length] as Binding).connect(server);
  try {
    await work(driver);
  } finally {
    driver.close();
  }
}

function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Every task of the server, page by page. */
async function listAll(driver: Driver): Promise<JsonObject[]> {
  const tasks: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const { message } = await driver.call("ListTasks", { pageSize: 100, pageToken });
    tasks.push(...((message?.tasks ?? []) as JsonObject[]));
    pageToken = String(message?.nextPageToken ?? "");
    if (pageToken === "") return tasks;
  }
}

describe("a server that is killed under load, again and again", () => {
  let server: ServerProcess;
  let tasks: JsonObject[];
  let logs: Map<string, Awaited<ReturnType<typeof logOf>>>;
  let played = 0;

  beforeAll(async () => {
    const end = Date.now() + enough;
    while (played < rounds && Date.now() < end) await round(played++);
    server = await home.start();
    const drivers = clients.map(({ binding }) => binding.connect(server));
    const finished = Promise.all(clients.map(({ load }, i) => load.finish(drivers[i] as Driver)));
    await within(30_000, finished, () => `Without an answer: ${JSON.stringify(allOrders().filter(isOpen))}`);
    const [driver] = drivers as [Driver];
    tasks = await listAll(driver);
    logs = new Map();
    for (const task of tasks) logs.set(String(task.id), await logOf(driver, String(task.id)));
    for (const each of drivers) each.close();
  }, 180_000);

  afterAll(() => home.leave());

  it("was loaded", () => {
    expect(played).toBeGreaterThan(3);
    for (const { load, binding } of clients) expect(load.orders.length, binding.name).toBeGreaterThan(played);
  });

  it("keeps what it acknowledged as it was, and breaks no call in another way than with the connection", () => {
    expect(problems).toEqual([]);
    const now = new Map(tasks.map((task) => [String(task.contextId), task]));
    for (const { key, acknowledged } of allOrders()) {
      expect(now.get(key)).toMatchObject({ id: acknowledged?.id, status: acknowledged?.status as JsonObject });
    }
  });

  it("has one task for each order, however often it was sent", () => {
    const contexts = tasks.map((task) => String(task.contextId));
    expect(contexts.toSorted()).toEqual(
      allOrders()
        .map(({ key }) => key)
        .toSorted(),
    );
  });

  it("has the generations of each task without a gap, and every event that a client was given", () => {
    for (const { key, acknowledged, stories } of allOrders()) {
      const log = logs.get(String(acknowledged?.id));
      const expected = Array.from({ length: generationIn(acknowledged ?? {}) - 1 }, (_, i) => i + 2);
      expect([...(log?.events.keys() ?? [])], key).toEqual(expected);
      for (const story of stories) {
        for (const [generation, event] of story.events) expect(log?.events.get(generation), key).toEqual(event);
      }
    }
  });

  it("leaves no task in the middle, and ends each as its agent would", () => {
    const states = new Set(tasks.map(stateOf));
    expect([...states].filter((state) => /WORKING|SUBMITTED/.test(state))).toEqual([]);
    for (const order of allOrders()) {
      expect(mayEndIn(order, order.acknowledged ?? {}), JSON.stringify(order.acknowledged)).toBe(true);
    }
  });

  it("logs nothing that an operator would have to look after", () => {
    expect(logged).toBe("");
  });
});
