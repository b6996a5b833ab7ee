import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CallOptions } from "../../src/client/calls/call-options.js";
import type { ClientCore } from "../../src/client/calls/core.js";
import { follow, stream } from "../../src/client/follow/send.js";
import type { Update } from "../../src/task/answer.js";
import { LogServer } from "./log-server.js";

/** A server whose streams send nothing until they are ended. */
function silent(): ClientCore {
  const { core } = new LogServer([], [], { resume: true, idempotent: true });
  const events = (_: unknown, { signal }: { signal?: AbortSignal } = {}) => ({
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
    }),
  });
  const rpc = { ...core.rpc, sendStreamingMessage: events, subscribeToTask: events } as unknown as ClientCore["rpc"];
  return { ...core, rpc };
}

const calls: [string, (options: CallOptions) => AsyncGenerator<Update, void, undefined>][] = [
  ["stream()", (options) => stream(silent(), "Go.", options)],
  ["follow()", (options) => follow(silent(), "task", options)],
];

describe.each(calls)("a call of %s", (_, call) => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("holds neither a timer nor its signal if it is never read", async () => {
    const { signal } = new AbortController();
    const updates = call({ signal, timeoutMs: 60_000 });
    expect([getEventListeners(signal, "abort").length, vi.getTimerCount()]).toEqual([0, 0]);
    await updates.return();
    expect([getEventListeners(signal, "abort").length, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("has its time from the call on, and then holds nothing", async () => {
    const { signal } = new AbortController();
    const updates = call({ signal, timeoutMs: 1_000 });
    vi.advanceTimersByTime(600);
    const first = expect(updates.next()).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED" });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(400);
    await first;
    expect([getEventListeners(signal, "abort").length, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("fails if its signal has fired before it is read", async () => {
    const caller = new AbortController();
    const updates = call({ signal: caller.signal });
    caller.abort();
    await expect(updates.next()).rejects.toMatchObject({ reason: "CANCELLED" });
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
  });
});
