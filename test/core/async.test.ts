import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { bounded, boundedCall, type Cancellation, orAborted, pause } from "../../src/core/async.js";

const never = new Promise<never>(() => {});

/** A client that leaves on demand. Counts its listeners. */
function client(): Cancellation & { leave: () => void; readonly listeners: number } {
  const callbacks = new Set<() => void>();
  return {
    canceled: false,
    onCancel: (callback) => {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    leave: () => {
      for (const callback of callbacks) callback();
    },
    get listeners() {
      return callbacks.size;
    },
  };
}

describe("bounded()", () => {
  it("settles as the work does, and listens no longer", async () => {
    const cancellation = client();
    const timeout = { ms: 60_000, error: () => new Error("late") };
    expect(await bounded(Promise.resolve(1), { cancellation, timeout })).toBe(1);
    await expect(bounded(Promise.reject(new Error("own")), { cancellation, timeout })).rejects.toThrow("own");
    expect(cancellation.listeners).toBe(0);
  });

  it("fails after the timeout, or when the client leaves", async () => {
    const cancellation = client();
    const timeout = { ms: 1, error: () => new Error("late") };
    await expect(bounded(never, { cancellation, timeout })).rejects.toThrow("late");
    const waiting = bounded(never, { cancellation });
    cancellation.leave();
    await expect(waiting).rejects.toMatchObject({ reason: "CANCELLED" });
    expect(cancellation.listeners).toBe(0);
  });
});

describe("boundedCall()", () => {
  it("removes what it registered as soon as the wait ends, so that it is called once", async () => {
    const waiting = new Set<(value: string) => void>();
    const cancellation = client();
    const wait = boundedCall<string>(
      (proceed) => {
        waiting.add(proceed);
        return () => waiting.delete(proceed);
      },
      { cancellation },
    );
    for (const proceed of waiting) proceed("held");
    expect([waiting.size, cancellation.listeners]).toEqual([0, 0]);
    cancellation.leave();
    expect(await wait).toBe("held");
  });
});

describe("boundedCall() with the result of a timeout", () => {
  it("resolves with it, and ends what was begun", async () => {
    const end = vi.fn();
    expect(await boundedCall<string>(() => end, { timeout: { ms: 1, result: () => "late" } })).toBe("late");
    expect(end).toHaveBeenCalledOnce();
  });
});

describe("pause()", () => {
  it("leaves no listener at its signal, whether the time passes or the signal fires", async () => {
    const stop = new AbortController();
    await pause(1, stop.signal);
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    const long = pause(60_000, stop.signal);
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
    stop.abort();
    await long;
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });
});

describe("orAborted()", () => {
  it("fails with the signal's reason, or the one that is made for it", async () => {
    const abort = new AbortController();
    const waits = [orAborted(never, abort.signal), orAborted(never, abort.signal, () => new Error("own"))];
    abort.abort(new Error("stop"));
    const late = orAborted(Promise.reject(new Error("dropped")), abort.signal);
    const reasons = (await Promise.allSettled([...waits, late])) as PromiseRejectedResult[];
    expect(reasons.map(({ reason }) => reason.message)).toEqual(["stop", "own", "stop"]);
  });

  it("removes its listener after the work", async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, "removeEventListener");
    expect(await orAborted(Promise.resolve(1), signal)).toBe(1);
    await vi.waitFor(() => expect(removed).toHaveBeenCalledOnce());
  });
});
