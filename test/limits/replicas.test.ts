import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { apiKeyScheme } from "../../src/auth/index.js";
import type { Limits } from "../../src/core/limits.js";
import { type A2AOptions, createServer } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { obedient } from "../conformance/agents.js";
import { programs, thePostgres } from "../store/postgres/server.js";
import { some } from "../support/cover.js";
import type { Driver } from "../support/driver.js";
import { bindingOf } from "../support/drivers.js";
import { as, expectLimit, gates, leave, newGate, say } from "./world.js";

vi.setConfig({ testTimeout: 60_000 });

let schemas = 0;

/** A kind of store that replicas share, with signals. */
type Kind = readonly [name: string, open: () => () => Promise<TaskStore>];

const memory: Kind = [
  "memory",
  () => {
    const store = memoryStore({ shared: true });
    return async () => store;
  },
];

const postgres: Kind = [
  "PostgreSQL",
  () => {
    const [{ url }, schema] = [thePostgres(), `limits${++schemas}`];
    return () => postgresStore({ url, schema, require: "none", connections: 3 });
  },
];

const kinds = some([memory], programs() === undefined ? [] : [postgres]);

/** Starts servers that share one store. */
async function replicas(
  open: () => Promise<TaskStore>,
  count: number,
  limits: Partial<Limits>,
  more: Partial<A2AOptions> = {},
): Promise<Driver[]> {
  const drivers: Driver[] = [];
  for (let i = 0; i < count; i++) {
    const store = await open();
    const server = await createServer({
      agent: obedient("limited"),
      authenticator: { authenticate: (call) => ({ owner: call.header("authorization") ?? "nobody" }) },
      ...more,
      limits: { shutdownGraceMs: 50, ...limits },
      ...{ store, host: "127.0.0.1", port: 0, grpcPort: false },
    } as Parameters<typeof createServer>[0]);
    const driver = bindingOf("rest").connect({ url: `http://127.0.0.1:${server.port}`, grpcPort: 0 });
    drivers.push(driver);
    onTestFinished(async () => {
      driver.close();
      await server.close();
      await store.close();
    });
  }
  return drivers;
}

/** Calls all servers repeatedly and concurrently. Returns the number of admitted calls and the elapsed time. */
async function hammer(
  drivers: readonly Driver[],
  ms: number,
  call: (driver: Driver) => Promise<boolean>,
): Promise<{ admitted: number; seconds: number }> {
  const begin = performance.now();
  let admitted = 0;
  await Promise.all(
    drivers.map(async (driver) => {
      while (performance.now() - begin < ms) {
        const all = await Promise.all(Array.from({ length: 4 }, () => call(driver)));
        admitted += all.filter(Boolean).length;
      }
    }),
  );
  return { admitted, seconds: (performance.now() - begin) / 1_000 };
}

describe.each(kinds)("three servers on one store in %s", (_, opener) => {
  it("admit the calls of one caller at its rate", async () => {
    const perSecond = 10;
    const drivers = await replicas(opener(), 3, { maxRequestsPerSecondPerCaller: perSecond });
    const list = async (driver: Driver): Promise<boolean> =>
      (await driver.call("ListTasks", {}, as("alice"))).error === undefined;
    const { admitted, seconds } = await hammer(drivers, 2_500, list);
    // Each other process may admit a burst, and the calls of the time until it is notified.
    const slack = 2 * (perSecond + 0.2 * perSecond);
    expect(admitted).toBeLessThanOrEqual(perSecond * (seconds + 1) + slack);
    expect(admitted).toBeGreaterThan(perSecond);
    expect((await drivers[1]?.call("ListTasks", {}, as("bob")))?.error).toBeUndefined();
  });

  it("allow no more guesses of credentials than one server does, except in the first moment", async () => {
    const security = {
      schemes: { key: apiKeyScheme({ in: "header", name: "x-key", keys: [{ key: "k".repeat(32), owner: "alice" }] }) },
    };
    const agent = { ...obedient("secured"), security };
    const drivers = await replicas(opener(), 3, { maxFailedAttempts: 5 }, { agent, authenticator: undefined } as never);
    const guess = async (driver: Driver): Promise<boolean> => {
      const { error } = await driver.call("ListTasks", {}, { headers: { "x-key": "wrong" } });
      return error?.reason !== "TOO_MANY_REQUESTS";
    };
    const { admitted, seconds } = await hammer(drivers, 1_500, guess);
    expect(admitted).toBeLessThanOrEqual(3 * (5 + 4) + seconds);
    expect(admitted).toBeGreaterThanOrEqual(5);
    // This caller failed only at other servers, but has to wait here too.
    const { error } = (await drivers[2]?.call("ListTasks", {}, { headers: { "x-key": "other" } })) ?? {};
    expect(error?.reason).toBe("TOO_MANY_REQUESTS");
  });

  it("run the executions of one owner within its limit, and those that wait when others end", async () => {
    const drivers = await replicas(opener(), 3, { maxExecutionsPerOwner: 4 });
    const [one, two, three] = drivers as [Driver, Driver, Driver];
    const gate = newGate();
    const states = async (): Promise<Record<string, number>> => {
      const { message } = await one.call("ListTasks", { pageSize: 100 }, as("alice"));
      const counts: Record<string, number> = {};
      const { tasks = [] } = message as { tasks?: { status: { state: string } }[] };
      for (const { status } of tasks) counts[status.state] = (counts[status.state] ?? 0) + 1;
      return counts;
    };
    for (let i = 0; i < 3; i++) await one.call("SendMessage", leave(`wait ${gate}`), as("alice"));
    await sleep(300);
    for (let i = 0; i < 3; i++) await two.call("SendMessage", leave(`wait ${gate}`), as("alice"));
    await sleep(300);
    for (let i = 0; i < 3; i++) await three.call("SendMessage", leave(`wait ${gate}`), as("alice"));
    await sleep(300);
    // Three executions on the first server, one more, and one for the server that would otherwise run none.
    expect(await states()).toEqual({ TASK_STATE_WORKING: 5, TASK_STATE_SUBMITTED: 4 });
    expect((await two.call("SendMessage", say("echo"), as("bob"))).error).toBeUndefined();
    gates.open(gate);
    await expect.poll(states, { timeout: 20_000 }).toEqual({ TASK_STATE_COMPLETED: 9 });
  });

  it("open the streams of one caller within its limit, and again when others have ended", async () => {
    const drivers = await replicas(opener(), 3, { maxStreamsPerCaller: 4 });
    const [one, two, three] = drivers as [Driver, Driver, Driver];
    const gate = newGate();
    const open = async (driver: Driver) => {
      const stream = driver.stream("SendStreamingMessage", say(`wait ${gate}`), as("alice"));
      return { stream, first: await stream.next() };
    };
    const streams = [await open(one), await open(one), await open(one)];
    await sleep(300);
    streams.push(await open(two));
    await sleep(300);
    for (const driver of [one, two, three]) {
      const { first, stream } = await open(driver);
      expectLimit(
        driver,
        { error: "error" in first ? first.error : undefined, headers: stream.headers },
        "maxStreamsPerCaller",
      );
    }
    streams[0]?.stream.hangUp();
    await expect.poll(async () => "message" in (await open(three)).first, { timeout: 20_000 }).toBe(true);
    gates.open(gate);
  });

  it("keep the open tasks of one owner within its limit and one for each other server", async () => {
    const max = 24;
    const drivers = await replicas(opener(), 3, {
      maxOpenTasksPerOwner: max,
      maxExecutions: 1,
      maxExecutionsPerOwner: 1,
    });
    const gate = newGate();
    const create = async (driver: Driver): Promise<boolean> =>
      (await driver.call("SendMessage", leave(`wait ${gate}`), as("alice"))).error === undefined;
    // Each server has counted its tasks before the others create more.
    let created = (await Promise.all(drivers.map(create))).filter(Boolean).length;
    for (const driver of drivers) while (await create(driver)) created++;
    await Promise.all(
      drivers.map(async (driver) => {
        for (let i = 0; i < 5; i++) if (await create(driver)) created++;
      }),
    );
    expect(created).toBeGreaterThanOrEqual(max);
    expect(created).toBeLessThanOrEqual(max + 2);
    gates.open(gate);
  });

  it("keep the push configurations of one owner within its limit", async () => {
    const drivers = await replicas(
      opener(),
      3,
      { maxPushConfigsPerOwner: 5 },
      { push: { allowHttp: true, allow: ["127.0.0.1"], ports: [9] } },
    );
    const gate = newGate();
    const tasks: string[] = [];
    for (let i = 0; i < 12; i++) {
      const { message } = await (drivers[0] as Driver).call("SendMessage", leave(`wait ${gate}`), as("alice"));
      tasks.push((message as { task: { id: string } }).task.id);
    }
    // Each server has one request at a time, so the requests of the others may exceed the limit.
    let made = 0;
    await Promise.all(
      drivers.map(async (driver, at) => {
        for (const taskId of tasks.filter((_, i) => i % 3 === at)) {
          const config = { taskId, id: "one", url: "http://127.0.0.1:9/hook" };
          const { error } = await driver.call("CreateTaskPushNotificationConfig", config, as("alice"));
          if (error === undefined) made++;
          else expect(error.reason).toBe("TOO_MANY_REQUESTS");
        }
      }),
    );
    expect(made).toBeGreaterThanOrEqual(5);
    expect(made).toBeLessThanOrEqual(5 + 2);
    gates.open(gate);
  });
});
