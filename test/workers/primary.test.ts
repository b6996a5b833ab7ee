import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../src/core/log.js";
import type { ToWorker } from "../../src/workers/messages.js";
import { Primary } from "../../src/workers/primary.js";

/** Actions that run once when the nth worker, counted from 1, has been started or is asked to leave its place. */
type Happenings = Readonly<Record<string, () => void>>;

/** A worker process that serves soon after its start, and exits soon after its replacement. */
class Worker extends EventEmitter {
  readonly pid: number;
  readonly #meanwhile: Happenings;
  connected = true;

  constructor(pid: number, meanwhile: Happenings) {
    super();
    this.pid = pid;
    this.#meanwhile = meanwhile;
    void this.#start();
  }

  async #start(): Promise<void> {
    await this.#happens("start");
    if (this.connected) this.emit("message", { type: "ready", latestMs: 1_000 });
  }

  async #happens(what: string): Promise<void> {
    await turn();
    this.#meanwhile[`${what} ${this.pid}`]?.();
    for (let turns = 0; turns < 10; turns++) await turn();
  }

  send({ type }: ToWorker): void {
    if (type === "replace") void this.#happens("replace").then(() => this.exit(0));
  }

  exit(code: number): void {
    if (!this.connected) return;
    this.connected = false;
    this.emit("exit", code, null);
  }
}

/** A primary process of some workers that all serve. */
class Started {
  readonly workers: Worker[] = [];
  readonly primary: Primary;

  constructor(count: number, meanwhile: Happenings) {
    this.primary = new Primary({
      count,
      sockets: {},
      fork: ({ number }) => {
        const worker = new Worker(number, meanwhile);
        this.workers.push(worker);
        return worker as unknown as ChildProcess;
      },
      forkWriter: () => {
        throw new Error("No worker asks for it.");
      },
      restartCode: 75,
      logger: silentLogger,
    });
  }

  /** Crashes workers in this order. */
  crash(...numbers: number[]): void {
    for (const number of numbers) this.workers[number - 1]?.exit(1);
  }

  /** The numbers of the workers that run, once nothing more happens. */
  async running(): Promise<number[]> {
    // The second crash in a row delays the next start by 100 ms.
    await new Promise((resolve) => setTimeout(resolve, 200));
    return this.workers.filter(({ connected }) => connected).map(({ pid }) => pid);
  }
}

/** Starts workers and replaces them all. */
async function replaced(count: number, meanwhile: (started: Started) => Happenings): Promise<Started> {
  const happenings: Record<string, () => void> = {};
  const started = new Started(count, happenings);
  expect(await started.primary.start()).toBe(undefined);
  expect(await started.running()).toHaveLength(count);
  Object.assign(happenings, meanwhile(started));
  await started.primary.replaceAll();
  return started;
}

describe("Primary.replaceAll()", () => {
  it("replaces each worker by one", async () => {
    const started = await replaced(3, () => ({}));
    expect(await started.running()).toEqual([4, 5, 6]);
  });

  it("starts one worker for one that crashes before its turn", async () => {
    const started = await replaced(3, (it) => ({ "replace 1": () => it.crash(3) }));
    expect(await started.running()).toEqual([4, 5, 6]);
    await started.primary.replaceAll();
    expect(await started.running()).toEqual([7, 8, 9]);
  });

  it("starts one worker for one that crashes while its successor starts", async () => {
    const started = await replaced(2, (it) => ({ "start 3": () => it.crash(1) }));
    expect(await started.running()).toEqual([3, 4]);
    started.crash(3);
    expect(await started.running()).toEqual([4, 5]);
  });

  it.each([
    ["before", [1, 3]],
    ["after", [3, 1]],
  ])("starts one worker for one that crashes right %s its successor", async (_, crashes) => {
    const started = await replaced(2, (it) => ({ "start 3": () => it.crash(...crashes) }));
    expect(await started.running()).toEqual([2, 4]);
  });

  it("still restarts a worker whose successor could not start", async () => {
    const started = await replaced(2, (it) => ({ "start 3": () => it.crash(3) }));
    expect(await started.running()).toEqual([1, 2]);
    started.crash(1);
    expect(await started.running()).toEqual([2, 4]);
  });
});
