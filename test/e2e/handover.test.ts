import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSocket, startWith } from "../cli/passed-sockets.js";
import type { Address, Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { build, root } from "./support/build.js";
import { Callers } from "./support/callers.js";

/** Number of restarts. A few usually show a fault; `PARLEY_RESTARTS=50` runs more. */
const RESTARTS = Number(process.env.PARLEY_RESTARTS ?? 2);

/** Time between two restarts in which calls and streams begin, in milliseconds. */
const BETWEEN_MS = 1_500;

const probe = join(root, "dist/examples/probe/agent.js");
const main = join(root, "dist/src/cli/main.js");

let folder: string;
let children: Supervised[];
let drivers: Driver[];

beforeEach(() => {
  build();
  folder = mkdtempSync(join(tmpdir(), "parley-handover-"));
  [children, drivers] = [[], []];
});

afterEach(async () => {
  for (const driver of drivers) driver.close();
  await Promise.all(children.map((each) => each.end()));
  rmSync(folder, { recursive: true, force: true });
});

/** A server that is restarted whenever it ends, on sockets that stay open. */
class Supervised {
  #log = "";
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.resume();
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#log += text;
    });
    children.push(this);
  }

  /** Resolves when the server has been ready this many times. */
  async readyTimes(times: number): Promise<void> {
    while ((this.#log.match(/the server is ready/g) ?? []).length < times) {
      if (this.#child.exitCode !== null) throw new Error(this.#log);
      await sleep(10);
    }
  }

  /** Ends the server. Resolves when the next one is ready. */
  async restart(times: number): Promise<void> {
    const pid = [...this.#log.matchAll(/^pid (\d+)$/gm)].at(-1)?.[1];
    process.kill(Number(pid), "SIGTERM");
    await this.readyTimes(times);
  }

  get log(): string {
    return this.#log;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill();
    await exited;
  }
}

interface Site extends Address {
  readonly servers: readonly Supervised[];
}

/** Starts servers that share their sockets and their store. */
async function site(count: number, ...flags: string[]): Promise<Site> {
  const sockets = [await openSocket(), await openSocket()];
  const store = ["--store", join(folder, "tasks.db"), ...(count > 1 ? ["--shared"] : [])];
  const command = [process.execPath, main, "serve", probe, ...store, "--idempotent-message-ids", ...flags];
  const passing = { sockets, names: "http:grpc", cwd: folder, again: true };
  const servers = Array.from({ length: count }, () => new Supervised(startWith(command, passing)));
  for (const socket of sockets) socket.release();
  await Promise.all(servers.map((server) => server.readyTimes(1)));
  const [http, grpc] = sockets;
  return { url: `http://127.0.0.1:${http?.port}`, grpcPort: grpc?.port ?? 0, servers };
}

/**
 * Restarts the servers in turn under calls over every binding. @returns the clients of each binding, with their results
 */
async function underLoad({ servers, ...address }: Site): Promise<Callers[]> {
  drivers = bindings.map((binding) => binding.connect(address));
  const callers = drivers.map((driver) => new Callers(driver));
  const stop = new AbortController();
  const work = callers.flatMap((each) => [each.call(stop.signal), each.stream(stop.signal)]);
  const restarts = async (): Promise<void> => {
    for (let times = 2; times < RESTARTS + 2; times++) {
      for (const server of servers) {
        await sleep(BETWEEN_MS);
        await server.restart(times);
      }
    }
    await sleep(BETWEEN_MS);
    stop.abort();
  };
  await Promise.all([restarts(), ...work]);
  return callers;
}

// Connections may break, because a client can send a call at the moment when the server closes the connection
// (`Tally.broken`).
describe.skipIf(process.platform === "win32")("a server whose sockets outlive it", () => {
  const timeout = 60_000 + RESTARTS * 40_000;

  it("hands over a store that is not shared: calls wait, and none is refused", { timeout }, async () => {
    const callers = await underLoad(await site(1, "--drain-delay", "500ms"));
    for (const { tally, name } of callers) {
      expect(tally.refused, name).toEqual([]);
      expect(tally.calls, name).toBeGreaterThan(RESTARTS);
      expect(tally.streams, name).toBeGreaterThan(0);
    }
    // Streams live longer than the delay, so a restart always interrupts some.
    expect(callers.reduce((sum, { tally }) => sum + tally.resumed, 0)).toBeGreaterThan(0);
  });

  it("is restarted beside another one on the same sockets and store, and no call is refused", { timeout }, async () => {
    const callers = await underLoad(await site(2, "--drain-delay", "500ms"));
    for (const { tally, name } of callers) {
      expect(tally.refused, name).toEqual([]);
      expect(tally.calls, name).toBeGreaterThan(RESTARTS);
    }
  });
});
