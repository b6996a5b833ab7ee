import assert from "node:assert";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type AuditFacts, type AuditRecord, AuditRecorder, auditBounds, auditChannel } from "../../src/audit/audit.js";
import { guardedLogger, type Logger, silentLogger } from "../../src/core/log.js";
import { setConstants } from "../support/constants.js";

const denied = (address: string, more: Partial<AuditFacts> = {}): AuditFacts => ({
  event: "access.denied",
  reason: "PERMISSION_DENIED",
  address,
  ...more,
});

let written: AuditRecord[];
let recorder: AuditRecorder;
beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-01-02T03:04:05.678Z") });
  written = [];
  setConstants(auditBounds, { recordsPerSource: 3, records: 10, windowMs: 1_000 });
  recorder = new AuditRecorder({ write: (record) => void written.push(record) });
});
afterEach(() => void vi.useRealTimers());

describe("AuditRecorder", () => {
  it("writes what is known, with the time and the outcome of the event's table", () => {
    recorder.record(denied("192.0.2.1", { owner: "alice", tenant: "", method: undefined }));
    expect(written).toEqual([
      {
        at: "2026-01-02T03:04:05.678Z",
        event: "access.denied",
        outcome: "denied",
        reason: "PERMISSION_DENIED",
        address: "192.0.2.1",
        owner: "alice",
      },
    ]);
  });

  it("goes on where a log throws, or answers by a promise that it breaks", async () => {
    vi.useRealTimers();
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const broken = new Error("the database is away");
    const writes = [() => Promise.reject(broken), () => assert.fail(broken)];
    for (const write of writes) new AuditRecorder({ write }).record(denied("192.0.2.1"));
    const logger = guardedLogger({ ...silentLogger, info: () => Promise.reject(broken) });
    logger.info({}, "goes to a database");
    await new Promise((resolve) => setTimeout(resolve, 10));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });

  it("joins what one source does too often, and says at the end of the window how often it was", () => {
    for (let i = 0; i < 100; i++) recorder.record(denied("192.0.2.1", { owner: "alice", requestId: `r${i}` }));
    expect(written).toHaveLength(3);
    vi.advanceTimersByTime(500);
    recorder.record(denied("192.0.2.1", { owner: "alice" }));
    vi.advanceTimersByTime(500);
    expect(written.slice(3)).toEqual([
      {
        at: "2026-01-02T03:04:05.678Z",
        until: "2026-01-02T03:04:06.178Z",
        event: "access.denied",
        outcome: "denied",
        reason: "PERMISSION_DENIED",
        address: "192.0.2.1",
        owner: "alice",
        count: 98,
      },
    ]);
    recorder.record(denied("192.0.2.1", { owner: "alice" }));
    expect(written).toHaveLength(5);
  });

  it("takes other kinds, other owners and other addresses for themselves, and one IPv6 network for one", () => {
    for (let i = 0; i < 4; i++) {
      recorder.record(denied(`2001:db8::${i}`));
      recorder.record(denied("192.0.2.2"));
    }
    recorder.record(denied("192.0.2.2", { owner: "bob" }));
    recorder.record({ event: "limit.hit", limit: "maxCalls", address: "192.0.2.2" });
    recorder.record({ event: "limit.hit", limit: "maxStreams", address: "192.0.2.2" });
    expect(written).toHaveLength(3 + 3 + 3);
  });

  it("writes no more than its bound, whatever the number of addresses, and counts the others", () => {
    for (let i = 0; i < 10_000; i++) {
      recorder.record(denied(`10.0.${i >> 8}.${i & 255}`, { owner: `o${i}`, requestId: `r${i}` }));
      recorder.record({ event: "authentication.failed", reason: "missing", address: `10.0.${i >> 8}.${i & 255}` });
    }
    expect(written).toHaveLength(10);
    vi.advanceTimersByTime(1_000);
    const [first, second, ...others] = written.slice(10);
    expect([first, second]).toMatchObject([
      { event: "access.denied", count: 9_995 },
      { event: "authentication.failed", count: 9_995 },
    ]);
    expect(others).toEqual([]);
    expect([first, second].flatMap((record) => Object.keys(record ?? {}))).not.toContain("address");
  });

  it("always writes what the server does itself, even in a flood", () => {
    for (let i = 0; i < 100; i++) recorder.record(denied(`192.0.2.${i}`));
    for (let i = 0; i < 100; i++) recorder.record({ event: "push.redriven", count: i });
    expect(written.filter(({ event }) => event === "push.redriven")).toHaveLength(100);
  });

  it("writes what it has joined when it is asked to, as at the end", () => {
    for (let i = 0; i < 5; i++) recorder.record(denied("192.0.2.1"));
    recorder.flush();
    expect(written.at(-1)).toMatchObject({ count: 2 });
    recorder.flush();
    expect(written).toHaveLength(4);
  });

  it("bounds every fact: clients choose some of them", () => {
    recorder.record(denied("192.0.2.1", { owner: "o".repeat(10_000), tenant: "t".repeat(10_000) }));
    expect(JSON.stringify(written[0]).length).toBeLessThan(1_000);
  });

  it("goes on where the log throws", () => {
    const broken = new AuditRecorder({
      write: () => {
        throw new Error("no space");
      },
    });
    expect(() => broken.record(denied("192.0.2.1"))).not.toThrow();
  });
});

describe("auditChannel()", () => {
  const record: AuditRecord = { at: "2026-01-02T03:04:05.678Z", event: "server.started", outcome: "success" };
  const nothing = (): void => {};

  it("writes to a child of the logger, where it has one, at info", () => {
    const calls: unknown[] = [];
    const own: Logger = { debug: nothing, info: (...given) => void calls.push(given), warn: nothing, error: nothing };
    const logger: Logger = {
      ...own,
      info: nothing,
      child: (...given) => {
        calls.push(given);
        return own;
      },
    };
    auditChannel(logger).write(record);
    expect(calls).toEqual([[{ channel: "audit" }], [record, "server.started"]]);
  });

  it("names the channel in each line, where it has none", () => {
    const lines: unknown[] = [];
    auditChannel({ debug: nothing, info: (...given) => void lines.push(given), warn: nothing, error: nothing }).write(
      record,
    );
    expect(lines).toEqual([[{ channel: "audit", ...record }, "server.started"]]);
  });
});
