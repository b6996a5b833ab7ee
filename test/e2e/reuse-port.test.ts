import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { freePort } from "../support/free-port.js";
import { Callers } from "./support/callers.js";
import { Home } from "./support/server-process.js";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const sharesPorts = process.platform === "linux" && (major > 22 || (major === 22 && minor >= 12));

let home: Home;
let drivers: Driver[];

beforeEach(async () => {
  const ports = ["--port", String(await freePort()), "--grpc-port", String(await freePort())];
  home = new Home("--shared", "--idempotent-message-ids", "--drain-delay", "500ms", "--reuse-port", ...ports);
  drivers = [];
});

afterEach(async () => {
  for (const driver of drivers) driver.close();
  await home.leave();
});

/** Resolves when each binding has completed a call and its first stream has begun. */
const areAtWork = (callers: readonly Callers[]): Promise<void> =>
  expect.poll(() => Math.min(...callers.map(({ tally }) => tally.calls))).toBeGreaterThan(2);

describe.runIf(sharesPorts)("two servers on one port, of which the first ends under load", () => {
  it("fail no call of clients that retry, and lose no event of streams that are resumed", {
    timeout: 60_000,
  }, async () => {
    const first = await home.start();
    drivers = bindings.map((binding) => binding.connect(first));
    const callers = drivers.map((driver) => new Callers(driver));
    const stop = new AbortController();
    const work = callers.flatMap((each) => [each.call(stop.signal), each.stream(stop.signal)]);
    const handover = async (): Promise<void> => {
      await areAtWork(callers);
      await home.start();
      expect(await first.stop()).toEqual({ code: 0, signal: null });
      const before = callers.map(({ tally }) => tally.calls);
      const advance = (): number => Math.min(...callers.map(({ tally }, at) => tally.calls - (before[at] ?? 0)));
      await expect.poll(advance).toBeGreaterThan(2);
      // Waits until each stream has ended on the remaining server.
      await sleep(1_500);
      stop.abort();
    };
    await Promise.all([handover(), ...work]);
    for (const { tally, name } of callers) {
      // grpc-js reports a connection that the kernel reset as UNAVAILABLE.
      if (name !== "grpc") expect(tally.refused, name).toEqual([]);
      expect(tally.streams, name).toBeGreaterThan(0);
    }
    // Streams live longer than the drain delay, so the end of the first server interrupts some.
    expect(callers.reduce((sum, { tally }) => sum + tally.resumed, 0)).toBeGreaterThan(0);
  });
});
