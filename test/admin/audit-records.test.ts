import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AuditRecord } from "../../gen/parley/admin/v1/admin_pb.js";
import { auditBounds } from "../../src/audit/audit.js";
import { RecentAudit } from "../../src/audit/recent.js";
import { setConstants } from "../support/constants.js";
import { bindings } from "./callers.js";
import { clients, type Operator } from "./task-world.js";
import { openWorld, tokens, type World } from "./world.js";

/** The latest audit records, as operators read them. */

let world: World;
let admin: Operator;
beforeAll(async () => {
  world = await openWorld();
  admin = clients.connect(world.address);
});
afterAll(() => world.server.close());

const told = ({ event, outcome, owner, operator }: AuditRecord) => [event, outcome, owner, operator].join(" ").trim();

describe("listAuditRecords()", () => {
  it("lists what the audit log has, newest first, by event, outcome and owner", async () => {
    const denied = await fetch(`${world.server.url}/tasks`, { headers: { "a2a-version": "1.0", "x-key": "wrong" } });
    expect(denied.status).toBe(401);
    const caller = { "a2a-version": "1.0", "x-key": tokens.caller };
    expect((await fetch(`${world.server.url}/tasks/nowhere`, { headers: caller })).status).toBe(404);
    await admin.setLogLevel({ level: "info" }).catch(() => {});
    const { records, nextPageToken } = await admin.listAuditRecords({});
    expect(nextPageToken).toBe("");
    expect(records.map(told).slice(-4)).toEqual([
      "admin.write success  wendy",
      "access.denied denied alice",
      "authentication.failed denied",
      "server.started success",
    ]);
    expect(records.map(({ at }) => at && new Date(timestampMs(at)).toISOString())).toEqual(
      world.records.map(({ at }) => at).reverse(),
    );
    const list = async (filter: Parameters<Operator["listAuditRecords"]>[0]): Promise<string[]> =>
      (await admin.listAuditRecords(filter)).records.map(told);
    expect(await list({ outcomes: ["denied"] })).toEqual([
      "access.denied denied alice",
      "authentication.failed denied",
    ]);
    expect(await list({ events: ["server.started"] })).toEqual(["server.started success"]);
    expect(await list({ owner: "alice" })).toEqual(["access.denied denied alice"]);
    expect(await list({ owner: "", outcomes: ["denied"] })).toEqual(["authentication.failed denied"]);
    const first = await admin.listAuditRecords({ pageSize: 1 });
    const second = await admin.listAuditRecords({ pageSize: 1, pageToken: first.nextPageToken });
    expect([...first.records, ...second.records].map(told)).toEqual(records.slice(0, 2).map(told));
  });

  it("has every fact of the audit log, also of records that join several", async () => {
    setConstants(auditBounds, { windowMs: 300 });
    const own = await openWorld();
    try {
      const reader = clients.connect(own.address);
      const wrong = { "a2a-version": "1.0", "x-key": "wrong" };
      const first = fetch(`${own.server.url}/tasks`, { headers: wrong });
      await Promise.all([
        first,
        ...Array.from({ length: 14 }, () => fetch(`${own.server.url}/tasks`, { headers: wrong })),
      ]);
      await reader.redriveDeliveries({ keys: [{ taskId: "t-1", configId: "c-1" }] });
      await expect.poll(() => own.records.filter(({ until }) => until !== undefined)).toHaveLength(1);
      const { records } = await reader.listAuditRecords({});
      const time = (at: Timestamp | undefined): string | undefined => at && new Date(timestampMs(at)).toISOString();
      const shown = records.map(({ $typeName: _, at, until, count, ...facts }) => ({
        ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== "")),
        ...{ at: time(at), until: time(until), count: count === 0n ? undefined : Number(count) },
      }));
      const sorted = (all: readonly object[]): string[] =>
        all.map((each) => JSON.stringify(each, Object.keys(each).toSorted())).toSorted();
      expect(sorted(shown)).toEqual(sorted(own.records));
    } finally {
      await own.server.close({ graceMs: 0 });
    }
  });

  it("has no secret, and refuses names that no record has", async () => {
    const { records } = await admin.listAuditRecords({});
    expect(JSON.stringify(records, (_, value) => (typeof value === "bigint" ? String(value) : value))).not.toMatch(
      /-471[1-4]-/,
    );
    for (const filter of [{ events: ["all"] }, { outcomes: ["DENIED"] }]) {
      const error = await admin.listAuditRecords(filter).catch(ConnectError.from);
      expect(error).toMatchObject({
        code: Code.InvalidArgument,
        rawMessage: expect.stringContaining("must be some of"),
      });
    }
  });

  it("is there without an audit log, and as JSON over REST", async () => {
    const silent = await openWorld({}, { audit: false });
    try {
      const { records } = await clients.grpc(silent.address).listAuditRecords({ events: ["server.started"] });
      expect(records.map(told)).toEqual(["server.started success"]);
      const { text } = await bindings
        .rest(silent.address)
        .call(
          (await import("../../gen/parley/admin/v1/admin_pb.js")).AdminService.method.listAuditRecords,
          { pageSize: 1 },
          { authorization: `Bearer ${tokens.read}` },
        );
      expect(JSON.parse(text)).toMatchObject({ records: [{ event: "server.started", outcome: "success" }] });
    } finally {
      await silent.server.close();
    }
  });
});

describe("RecentAudit", () => {
  it("keeps the last 1,000 records, and passes all on", () => {
    const passed: string[] = [];
    const recent = new RecentAudit({ write: ({ at }) => void passed.push(at) });
    const at = (i: number): string => new Date(Math.floor(i / 4)).toISOString();
    for (let i = 0; i < 2_500; i++) recent.write({ at: at(i), event: "key.used", outcome: "success" });
    expect(passed).toHaveLength(2_500);
    const filter = { events: [], outcomes: [] };
    const all = recent.list(filter, { before: undefined, limit: 5_000 });
    const places = all.map(({ micros }) => micros);
    const expected = Array.from({ length: 1_000 }, (_, n) => 2_499 - n).map((i) => Math.floor(i / 4) * 1_000 + (i % 4));
    expect(places).toEqual(expected);
    // A page that begins before the oldest record is the last.
    expect(recent.list(filter, { before: expected.at(-1), limit: 10 })).toEqual([]);
    expect(recent.list(filter, { before: expected.at(-3), limit: 10 })).toEqual(all.slice(-2));
  });

  it("orders by the stated times, also after the clock has jumped", () => {
    const recent = new RecentAudit(undefined);
    for (const ms of [5, 7, 3, 4]) {
      recent.write({ at: new Date(ms).toISOString(), event: "key.used", outcome: "success" });
    }
    const found = recent.list({ events: [], outcomes: [] }, { before: undefined, limit: 10 });
    expect(found.map(({ micros }) => micros)).toEqual([7_000, 5_000, 4_000, 3_000]);
  });
});
