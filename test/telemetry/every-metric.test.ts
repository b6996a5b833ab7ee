import { renameSync } from "node:fs";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { artifact, completed } from "../../src/agent/event.js";
import { createServer, type Server, type ServerOptions } from "../../src/index.js";
import { pushRetry } from "../../src/push/outcome.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { type MetricName, metricTable } from "../../src/telemetry/metric-table.js";
import { obedient } from "../conformance/agents.js";
import { gates, leave, newGate, say } from "../limits/world.js";
import { type Answer, accept, Receiver, refuse } from "../push/receiver.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { setConstants } from "../support/constants.js";
import { seriesOf, sumOf } from "./read.js";

/* Each metric of the table changes when its cause happens, in a server with a store on disk and a real receiver. */

vi.setConfig({ testTimeout: 120_000 });

const patience = { timeout: 60_000, interval: 20 };
const MIB = 1024 * 1024;

/** Streams more than the buffers of a connection hold. */
const flooding = obedient(
  "counted",
  {},
  {
    async *execute() {
      for (let i = 0; i < 64; i++) yield artifact({ id: `${i}`, text: "x".repeat(MIB / 2) });
      yield completed();
    },
  },
);

let world: World;

/** A server, its store and the receiver of its notifications. */
class World {
  server!: Server;
  readonly path = temporaryFile();
  /** Addresses that each look-up of a name gets, the last one from then on. */
  readonly addresses = ["127.0.0.1", "10.0.0.1"];
  #paths = 0;

  constructor(readonly receiver: Receiver) {}

  async open(options: Partial<ServerOptions> = {}): Promise<void> {
    this.server = await createServer({
      agent: obedient("counted"),
      store: sqliteStore({ path: this.path, synchronous: "NORMAL" }),
      port: 0,
      grpcPort: false,
      metrics: true,
      ...options,
      push: {
        allowHttp: true,
        ports: [this.receiver.port],
        allow: ["127.0.0.1"],
        lookup: async () => [{ address: this.#nextAddress(), family: 4 }],
      },
      limits: { shutdownGraceMs: 50, maxPushRetryMs: 50, maxDeliveriesPerHost: 1, ...options.limits },
    });
  }

  #nextAddress(): string {
    return (this.addresses.length > 1 ? this.addresses.shift() : this.addresses[0]) ?? "";
  }

  async send(request: object): Promise<void> {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const answer = await fetch(`${this.server.url}/message:send`, {
      method: "POST",
      headers,
      body: JSON.stringify(request),
    });
    await answer.body?.cancel();
  }

  /** Creates a task with a webhook. */
  notify(host = "127.0.0.1"): Promise<void> {
    const url = `http://${host}:${this.receiver.port}/${++this.#paths}`;
    const request = leave("echo");
    return this.send({ ...request, configuration: { returnImmediately: true, taskPushNotificationConfig: { url } } });
  }

  async value(name: MetricName, labels: Record<string, string> = {}): Promise<number> {
    const { name: text, kind } = metricTable[name];
    return sumOf(await seriesOf(this.server), kind === "histogram" ? `${text}_count` : text, labels);
  }

  /** Sum of the observed times, in seconds; undefined for other metrics. */
  async seconds(name: MetricName, labels: Record<string, string>): Promise<number | undefined> {
    const { name: text, kind } = metricTable[name];
    return kind === "histogram" ? sumOf(await seriesOf(this.server), `${text}_sum`, labels) : undefined;
  }

  has(name: MetricName, value: number, labels: Record<string, string> = {}): Promise<void> {
    return expect.poll(() => this.value(name, labels), patience).toBe(value);
  }

  /** A metric is larger after a cause than before it. */
  async grows(name: MetricName, cause: () => unknown, labels: Record<string, string> = {}, by = 1): Promise<void> {
    // Before the count: an observation between the two would be in the sum already.
    const seconds = await this.seconds(name, labels);
    const before = await this.value(name, labels);
    await cause();
    await expect.poll(() => this.value(name, labels), patience).toBeGreaterThanOrEqual(before + by);
    if (seconds !== undefined) expect(await this.seconds(name, labels)).toBeGreaterThan(seconds);
  }

  /** A gauge has a value while an agent waits, and 0 before and after. */
  async whileWaiting(name: MetricName, tasks: number, value = 1): Promise<void> {
    const gate = newGate();
    await this.has(name, 0);
    for (let i = 0; i < tasks; i++) await this.send(leave(`wait ${gate}`));
    await this.has(name, value);
    gates.open(gate);
    await this.has(name, 0);
  }

  /** A gauge has a value while the receiver answers in one way, and 0 once it accepts everything. */
  async whileReceiver(answer: Answer, name: MetricName, tasks = 1): Promise<void> {
    await this.has(name, 0);
    this.receiver.answer = answer;
    for (let i = 0; i < tasks; i++) await this.notify();
    await this.has(name, 1);
    this.receiver.answer = accept;
    this.receiver.dropAll();
    await this.has(name, 0);
  }
}

/** Never answers. */
const silent: Answer = () => {};

/** Keeps objects from the garbage collector until the test has ended. */
let kept: unknown[] = [];

const echo = (): Promise<void> => world.send(say("echo"));

/** The cause of each metric's change. Each begins with a new server. */
const cases: Readonly<Record<MetricName, () => Promise<void>>> = {
  buildInfo: async () => {
    await world.open();
    const labels = { store: "sqlite", node_version: process.versions.node };
    expect([await world.value("buildInfo", labels), await world.value("buildInfo")]).toEqual([1, 1]);
  },
  ready: async () => {
    await world.open();
    await world.has("ready", 1, { state: "ready" });
    await world.server.close({ graceMs: 0 });
    await world.has("ready", 1, { state: "draining" });
    await world.has("ready", 0, { state: "ready" });
  },

  calls: async () => {
    await world.open();
    await world.grows("calls", echo, { binding: "rest", method: "SendMessage", version: "1.0", code: "OK" });
  },
  callDuration: async () => {
    await world.open();
    await world.grows("callDuration", echo, { binding: "rest", method: "SendMessage", version: "1.0", code: "OK" });
  },
  callsOpen: async () => {
    await world.open();
    const gate = newGate();
    const call = world.send(say(`wait ${gate}`));
    await world.has("callsOpen", 1, { method: "SendMessage" });
    gates.open(gate);
    await call;
    await world.has("callsOpen", 0);
  },
  requestsRefused: async () => {
    await world.open();
    const cause = (): Promise<unknown> => fetch(`${world.server.url}/nothing`);
    await world.grows("requestsRefused", cause, { code: "METHOD_NOT_FOUND" });
  },
  limitRefusals: async () => {
    await world.open({ limits: { maxMessageBytes: 2_000 } });
    await world.grows("limitRefusals", () => world.send(say("x".repeat(4_000))), { limit: "maxMessageBytes" });
  },
  auditEvents: async () => {
    await world.open({ limits: { maxMessageBytes: 2_000 } });
    await world.grows("auditEvents", () => world.send(say("x".repeat(4_000))), { event: "limit.hit" });
  },

  executionsRunning: async () => {
    await world.open();
    await world.whileWaiting("executionsRunning", 1);
  },
  executionsWaiting: async () => {
    await world.open({ limits: { maxExecutions: 1 } });
    await world.whileWaiting("executionsWaiting", 3, 2);
  },
  executions: async () => {
    await world.open();
    await world.grows("executions", echo, { outcome: "completed" });
    await world.grows("executions", () => world.send(say("fail so")), { outcome: "failed" });
    await world.grows("executions", () => world.send(say("ask you")), { outcome: "input_required" });
  },
  executionDuration: async () => {
    await world.open();
    await world.grows("executionDuration", echo);
  },
  firstEvent: async () => {
    await world.open();
    await world.grows("firstEvent", echo);
  },
  readerLag: async () => {
    await world.open({ agent: flooding });
    const socket = connect(Number(new URL(world.server.url).port), "127.0.0.1").pause();
    const body = JSON.stringify(say("go"));
    const headers = `host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    socket.write(`POST /message:stream HTTP/1.1\r\n${headers}\r\n\r\n${body}`);
    await expect.poll(() => world.value("readerLag"), patience).toBeGreaterThan(0);
    socket.on("error", () => {}).destroy();
    await world.has("readerLag", 0);
  },

  appendDuration: async () => {
    await world.open();
    await world.grows("appendDuration", echo);
  },
  entries: async () => {
    await world.open();
    // The message, an artifact and the end.
    await world.grows("entries", echo, {}, 3);
  },
  commitDuration: async () => {
    await world.open();
    await world.grows("commitDuration", echo);
  },
  storeWrites: async () => {
    await world.open();
    await world.grows("storeWrites", echo);
  },
  storeBytes: async () => {
    await world.open();
    await world.grows("storeBytes", () => world.send(say(`echo ${"x".repeat(MIB)}`)), {}, MIB);
  },
  storeHealthy: async () => {
    await world.open({ limits: { storeRecoveryMs: 600_000 } });
    await world.has("storeHealthy", 1);
    renameSync(world.path, `${world.path}.elsewhere`);
    await world.has("storeHealthy", 0);
    renameSync(`${world.path}.elsewhere`, world.path);
    await world.has("storeHealthy", 1);
  },
  leases: async () => {
    await world.open();
    await world.whileWaiting("leases", 2, 2);
  },
  tasksOpen: async () => {
    await world.open();
    await world.whileWaiting("tasksOpen", 2, 2);
  },
  tasksInterrupted: async () => {
    await world.open();
    await world.has("tasksInterrupted", 0);
    await world.send(say("ask you"));
    await world.has("tasksInterrupted", 1);
  },

  deliveryDuration: async () => {
    await world.open();
    const sends = async (result: string, answer: Answer, host?: string): Promise<void> => {
      world.receiver.answer = answer;
      await world.grows("deliveryDuration", () => world.notify(host), { result });
    };
    await sends("accepted", accept);
    await sends("refused", refuse(410));
    await sends("failed", (_hit, response) => response.destroy());
    // The name leads to a permitted address at first, and later to another.
    await sends("forbidden", accept, "hook.example");
  },
  deadLetters: async () => {
    await world.open();
    world.receiver.answer = refuse(410);
    await world.grows("deadLetters", () => world.notify());
  },
  deliveriesWorking: async () => {
    await world.open();
    await world.whileReceiver(silent, "deliveriesWorking");
  },
  deliveriesWaiting: async () => {
    await world.open();
    // Deliveries wait for a host that has accepted one.
    await world.grows("deliveryDuration", () => world.notify(), { result: "accepted" }, 3);
    await world.whileReceiver(silent, "deliveriesWaiting", 2);
  },
  deliveriesDue: async () => {
    await world.open();
    await world.whileReceiver(refuse(500), "deliveriesDue");
  },
  deliveriesDead: async () => {
    await world.open();
    await world.has("deliveriesDead", 0);
    world.receiver.answer = refuse(410);
    await world.notify();
    await world.has("deliveriesDead", 1);
  },
  failingHosts: async () => {
    await world.open();
    await world.whileReceiver(refuse(503), "failingHosts");
  },

  eventLoopDelay: async () => {
    await world.open();
    // The first readings begin the measurement.
    const blocked = async (): Promise<number> => {
      const delay = await world.value("eventLoopDelay", { stat: "max" });
      const until = performance.now() + 300;
      while (performance.now() < until);
      return delay;
    };
    await expect.poll(blocked, patience).toBeGreaterThan(0.2);
  },
  cpuSeconds: async () => {
    await world.open();
    const cause = (): void => {
      const used = (): number => process.cpuUsage().user + process.cpuUsage().system;
      const until = used() + 100_000;
      while (used() < until);
    };
    await world.grows("cpuSeconds", cause, {}, 0.1);
  },
  memoryBytes: async () => {
    await world.open();
    await world.grows("memoryBytes", () => kept.push(Buffer.alloc(128 * MIB, 1)), {}, 32 * MIB);
  },
  heapBytes: async () => {
    await world.open();
    await world.grows("heapBytes", () => kept.push(new Array(16 * MIB).fill(0.5)), {}, 32 * MIB);
  },
  startTime: async () => {
    await world.open();
    const value = await world.value("startTime");
    expect(value).toBeLessThanOrEqual(Date.now() / 1_000);
    expect(value).toBeGreaterThan(Date.now() / 1_000 - process.uptime() - 1);
  },
};

beforeEach(async () => {
  setConstants(pushRetry, { firstMs: 20 });
  world = new World(await Receiver.start());
});

afterEach(async () => {
  kept = [];
  // A store whose file is gone cannot be closed in full.
  await world.server.close({ graceMs: 0 }).catch(() => {});
  await world.receiver.stop();
});

describe("a metric changes with its cause", () => {
  it.each(Object.entries(metricTable))("%s", async (key, { name }) => {
    const change = cases[key as MetricName];
    expect(change, `no case changes ${name}`).toBeDefined();
    await change();
    // No label has the id of a task, a context or a message.
    expect([...(await seriesOf(world.server)).keys()].join("\n")).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  });
});
