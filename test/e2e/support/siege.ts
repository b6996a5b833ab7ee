import { setMaxListeners } from "node:events";
import { renameSync, statSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Driver } from "../../support/driver.js";
import { type Binding, bindings } from "../../support/drivers.js";
import { root } from "./build.js";
import { Disk, noDisk } from "./disk.js";
import { Gone, LoadClient, type Order, type Sameness } from "./load.js";
import { Home, type ServerProcess, within } from "./server-process.js";
import { logOf, resuming, type Story, say, taskOf } from "./story.js";

/** The activity that a kill interrupts. */
export type Moment =
  | "load"
  | "start"
  | "recovery"
  | "shutdown"
  | "last checkpoint"
  | "checkpoint under load"
  | "stopped"
  | "full disk"
  | "file moved";

/** The moments of twelve rounds. */
const moments: readonly Moment[] = [
  "load",
  "recovery",
  "full disk",
  "load",
  "start",
  "file moved",
  "shutdown",
  "stopped",
  "recovery",
  "load",
  "start",
  "last checkpoint",
];

/** Number of clients on each binding. */
const perBinding = 2;

/** Number of earlier tasks that each round under load checks again. */
const sample = 8;

/** A stream below 4 MB. Several of them exceed the log's size before a checkpoint (16 MiB). */
const flood = "stream 7 500000";
const floods = 6;

/** Prefix of the contexts of messages to a server without its file. */
const stray = "stray";

/** Timeout in milliseconds for actions that end by themselves. */
const PATIENCE_MS = 30_000;

/** Time after which a call to a dead server is aborted, in milliseconds. */
const LATE_MS = 5_000;

/** A client of one binding. */
interface Client {
  readonly binding: Binding;
  readonly load: LoadClient;
}

/** One store with clients over every binding, whose servers are killed one after the other. */
export class Siege {
  readonly clients: readonly Client[];
  readonly kills: Map<Moment, number> = new Map();
  /** Problems found before the end. */
  readonly problems: string[] = [];
  /** Error lines in the servers' logs. */
  logged = "";
  /** Number of tasks that exist although their sends were refused, because their file came back. */
  strays = 0;
  readonly #home: Home;
  /** Durations of starts, in milliseconds. */
  readonly starts: number[] = [];

  constructor(sameness: Sameness) {
    const flags = sameness === "message id" ? ["--idempotent-message-ids"] : [];
    // A single process does not wait for the lease of a dead one. This lease is longer than the test.
    this.#home = new Home("--lease", "1h", "--log-level", "error", ...flags);
    this.#home.agent = join(root, "test/fixtures/agents/counting.mjs");
    this.clients = bindings.flatMap((binding) =>
      Array.from({ length: perBinding }, (_, i) => ({
        binding,
        load: new LoadClient(`${sameness} ${binding.name} ${i}`, sameness),
      })),
    );
  }

  get store(): string {
    return this.#home.store;
  }

  get orders(): Order[] {
    return this.clients.flatMap(({ load }) => load.orders);
  }

  get killed(): number {
    return [...this.kills.values()].reduce((sum, kills) => sum + kills, 0);
  }

  /** Starts a server and kills it, at another moment in each round. */
  round(number: number): Promise<void> {
    const moment = moments[number % moments.length] as Moment;
    return within(3 * PATIENCE_MS, this.#round(number, moment), () => `Round ${number} (${moment}) does not end.`);
  }

  async #round(number: number, moment: Moment): Promise<void> {
    const ms = (most: number): number => ((number * 137) % 1_009) * (most / 1_009);
    const { store } = this;
    switch (moment) {
      case "start":
        return this.#starting(moment, () => sleep(ms(this.#usualStart())));
      case "recovery":
        // The n-th change of a file: a checkpoint of the log left by a crash, a claim of leases, or a recovery of
        // tasks.
        return this.#starting(moment, () => changes(dirname(store), /^tasks\.db(-wal)?$/, 1 + (number % 17)));
      case "shutdown":
        return this.#loaded(moment, number, async (server) => {
          await sleep(ms(150));
          server.signal("SIGTERM");
          await sleep(ms(120));
        });
      case "stopped":
        // Killed while it is stopped, or just after it continued.
        return this.#loaded(moment, number, async (server) => {
          await sleep(ms(150));
          server.signal("SIGSTOP");
          await sleep(ms(300));
          if (number % 24 >= 12) return;
          server.signal("SIGCONT");
          await sleep(ms(150));
        });
      case "last checkpoint":
        return this.#loaded(moment, number, async (server) => {
          await sleep(ms(150));
          await this.#untilLastCheckpoint(server);
        });
      case "full disk":
        return this.#onFullDisk(number, ms);
      case "file moved":
        return this.#loaded(moment, number, async (server) => {
          await sleep(ms(150));
          await this.#moveAway(server, number);
        });
      default:
        return this.#loaded(moment, number, () => sleep(ms(300)));
    }
  }

  /**
   * Asks a server to end, and stops it when it begins its checkpoint. It runs in small steps, because otherwise it
   * would end before the change is detected.
   */
  async #untilLastCheckpoint(server: ServerProcess): Promise<void> {
    const changed = (): bigint => statSync(this.store, { bigint: true }).mtimeNs;
    const before = changed();
    let isOver = false;
    void server.exited.then(() => {
      isOver = true;
    });
    server.signal("SIGTERM");
    while (!isOver && changed() === before) {
      server.signal("SIGCONT");
      await sleep(1);
      server.signal("SIGSTOP");
    }
  }

  /** Kills a server whose disk was full for a while. The next server can write. */
  async #onFullDisk(number: number, ms: (most: number) => number): Promise<void> {
    if (noDisk !== undefined) return this.#loaded("load", number, () => sleep(ms(300)));
    const disk = new Disk(dirname(this.store));
    this.#home.under = disk.under;
    try {
      await this.#loaded("full disk", number, async () => {
        await sleep(ms(150));
        disk.become("full");
        await sleep(ms(500));
      });
    } finally {
      this.#home.under = [];
      disk.leave();
    }
  }

  /** Moves the file away, checks that the server reports it and acknowledges nothing, and moves it back. */
  async #moveAway(server: ServerProcess, number: number): Promise<void> {
    const elsewhere = `${this.store}-elsewhere`;
    renameSync(this.store, elsewhere);
    const driver = (bindings[0] as Binding).connect(server);
    try {
      const request = say("echo lost", { contextId: `${stray} ${number}` });
      const { message } = await driver.call("SendMessage", request, resuming());
      if (message !== undefined) this.problems.push(`A file that is not there took ${JSON.stringify(message)}.`);
      const ready = async (): Promise<number> => (await fetch(`${server.url}/readyz`)).status;
      for (let tries = 0; (await ready()) !== 503 && tries < 40; tries++) await sleep(50);
      if ((await ready()) !== 503) this.problems.push("A server without its file is ready.");
    } finally {
      driver.close();
      renameSync(elsewhere, this.store);
      await server.kill();
    }
  }

  /** Kills a server in the middle of a checkpoint. */
  async flood(number: number): Promise<void> {
    for (const { load } of this.clients.slice(0, floods)) load.order(flood);
    await this.#loaded("checkpoint under load", number, async (server) => {
      const changed = changes(dirname(this.store), /^tasks\.db$/, 1);
      await Promise.race([changed, server.exited, sleep(5_000)]);
    });
  }

  /**
   * Completes all orders on a server that is not killed. Returns its tasks and their logs over the clients' bindings.
   */
  async finish(): Promise<{ tasks: JsonObject[]; logs: Map<Order, Story> }> {
    const server = await this.#home.start();
    const drivers = this.#connect(server);
    const open = (): Order[] => this.orders.filter(({ acknowledged }) => acknowledged === undefined);
    const finished = Promise.all(this.clients.map(({ load }, i) => untilDone(load, drivers[i] as Driver)));
    await within(180_000, finished, () => `Without an answer: ${JSON.stringify(open())}`);
    const logs = new Map<Order, Story>();
    await Promise.all(
      this.clients.map(async ({ load }, i) => {
        for (const order of load.orders) {
          logs.set(order, await logOf(drivers[i] as Driver, String(order.acknowledged?.id)));
        }
      }),
    );
    const all = await listAll(drivers[0] as Driver);
    const tasks = all.filter(({ contextId }) => !String(contextId).startsWith(stray));
    this.strays = all.length - tasks.length;
    for (const driver of drivers) driver.close();
    const exit = await server.stop();
    if (exit.code !== 0) this.problems.push(`The last server ended with ${JSON.stringify(exit)}.`);
    this.logged += withoutSlowWrites(server.log);
    return { tasks, logs };
  }

  leave(): Promise<void> {
    return this.#home.leave();
  }

  /** Kills a server during its start, at the latest just after it is ready. */
  async #starting(moment: Moment, until: () => Promise<void>): Promise<void> {
    const waited = until();
    const server = this.#home.launch();
    const ready = server.ready().then(
      () => sleep(20),
      () => {},
    );
    await Promise.race([waited, ready]);
    await this.#kill(server, moment);
  }

  /** Loads a server with all clients until it is killed. */
  async #loaded(moment: Moment, number: number, until: (server: ServerProcess) => Promise<void>): Promise<void> {
    const before = Date.now();
    const server = await this.#home.start();
    this.starts.push(Date.now() - before);
    const drivers = this.#connect(server);
    const checked = this.#checkKnown(drivers, number);
    await within(PATIENCE_MS, checked, () => "What is known is not answered.");
    const left = new AbortController();
    // Every call of the round adds a listener.
    setMaxListeners(0, left.signal);
    const running = this.clients.map(({ load }, i) => load.run(drivers[i] as Driver, left.signal));
    await until(server);
    await this.#kill(server, moment);
    // The Connect client may miss a broken connection if the server sent GOAWAY before.
    const late = setTimeout(() => left.abort(), LATE_MS);
    const broken = Promise.allSettled(running);
    const outcomes = await within(PATIENCE_MS, broken, () => {
      const open = this.orders.filter(({ acknowledged }) => acknowledged === undefined);
      return `After a kill (${moment}) some call does not break: ${JSON.stringify(open)}`;
    });
    clearTimeout(late);
    for (const outcome of outcomes) if (outcome.status === "rejected") this.problems.push(String(outcome.reason));
    for (const driver of drivers) driver.close();
  }

  async #kill(server: ServerProcess, moment: Moment): Promise<void> {
    const { code, signal } = await server.kill();
    for (const { load } of this.clients) load.cut();
    const isTold = moment === "full disk" || moment === "file moved";
    this.logged += isTold
      ? server.log.replaceAll(/^.*the task store is unavailable: the server is not ready.*\n/gm, "")
      : withoutSlowWrites(server.log);
    if (signal === "SIGKILL") this.kills.set(moment, (this.kills.get(moment) ?? 0) + 1);
    // A server that was asked to end may end before it is killed.
    else if (code !== 0) this.problems.push(`A server ended with ${code} ${signal}.\n${server.log}`);
  }

  /** Checks that tasks acknowledged in earlier rounds are unchanged, and that a repeated send finds its task. */
  async #checkKnown(drivers: readonly Driver[], number: number): Promise<void> {
    const client = number % this.clients.length;
    const { load } = this.clients[client] as Client;
    const driver = drivers[client] as Driver;
    const known = this.orders.filter(({ acknowledged }) => acknowledged !== undefined);
    const step = Math.max(1, Math.floor(known.length / (sample / 2)));
    const picked = [...known.slice(-sample / 2), ...known.filter((_, i) => i % step === number % step)];
    try {
      await Promise.all(picked.map((order) => this.#checkOne(order, driver)));
      const repeated = load.orders.find(({ acknowledged }) => acknowledged !== undefined);
      if (repeated === undefined) return;
      const { id } = await load.repeat(repeated, driver);
      if (id !== repeated.acknowledged?.id) this.problems.push(`${repeated.key} came again and is another task.`);
    } catch (error) {
      this.problems.push(`A server that nobody killed refused: ${error}${error instanceof Gone ? "" : " (no break)"}`);
    }
  }

  async #checkOne(order: Order, driver: Driver): Promise<void> {
    const task = await taskOf(driver, String(order.acknowledged?.id));
    if (JSON.stringify(task) === JSON.stringify(order.acknowledged)) return;
    this.problems.push(
      `${order.key} was acknowledged as ${JSON.stringify(order.acknowledged)}, is ${JSON.stringify(task)}`,
    );
  }

  /** Opens one connection for each binding, which its clients share. */
  #connect(server: ServerProcess): Driver[] {
    const connected = new Map(bindings.map((binding) => [binding, binding.connect(server)]));
    return this.clients.map(({ binding }) => connected.get(binding) as Driver);
  }

  #usualStart(): number {
    const sorted = this.starts.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 500;
  }
}

/** Resolves at the n-th change of files in a folder. */
function changes(folder: string, names: RegExp, n: number): Promise<void> {
  return new Promise((resolve) => {
    let left = n;
    const watcher = watch(folder, { persistent: false }, (_, name) => {
      if (name === null || !names.test(basename(name)) || --left > 0) return;
      watcher.close();
      resolve();
    });
  });
}

/** All tasks of the server, read in pages. */
async function listAll(driver: Driver): Promise<JsonObject[]> {
  const tasks: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const { message } = await driver.call("ListTasks", { pageSize: 100, pageToken });
    tasks.push(...((message?.tasks ?? []) as JsonObject[]));
    pageToken = String(message?.nextPageToken ?? "");
    if (pageToken === "") return tasks;
  }
}

/** Completes a client's orders. A busy server may once be unavailable, so the client retries. */
async function untilDone(load: LoadClient, driver: Driver): Promise<void> {
  for (;;) {
    try {
      return await load.finish(driver);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      await sleep(200);
    }
  }
}

/** Removes lines about slow writes, which a busy machine may cause. */
function withoutSlowWrites(log: string): string {
  return log.replaceAll(/^.*A write to the store has been under way for more than.*\n/gm, "");
}
