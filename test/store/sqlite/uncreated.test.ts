import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { headOf, OWNER } from "../../../contract/setup.js";
import { type LogEntry, LogEntrySchema } from "../../../gen/parley/log/v1/log_pb.js";
import { planSegments, writeEntries } from "../../../src/store/segment.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { migrate } from "../../../src/store/sqlite/migrations.js";
import { lacksCreation } from "../../../src/store/sqlite/uncreated.js";
import { encodeEntry, timestampOf } from "../../../src/task/entry.js";
import { openDatabase } from "../../support/database.js";
import { temporaryFile } from "./files.js";

/** Those that earlier versions, which left such tasks, could store. */
type Case = Exclude<NonNullable<LogEntry["event"]["case"]>, "step" | "note">;

function entryOf(kind: Case, position: number, size: number): Uint8Array {
  const text = { content: { case: "text", value: "x".repeat(size) } } as const;
  const content = {
    created: { id: "a", history: [{ parts: [text] }] },
    message: { parts: [text] },
    status: { status: { message: { parts: [text] } } },
    artifact: { artifact: { parts: [text] } },
  }[kind];
  const rest = { position, generation: position, time: timestampOf(1_000), traceParent: "00-ab-cd-01" };
  return encodeEntry(create(LogEntrySchema, { ...rest, event: { case: kind, value: content } as LogEntry["event"] }));
}

function segmentOf(entries: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(planSegments(entries).reduce((sum, segment) => sum + segment.bytes, 0));
  writeEntries(bytes, 0, entries);
  return bytes;
}

const others: Case[] = ["message", "status", "artifact"];

describe("lacksCreation()", () => {
  it("tells by the first entry alone, however long it is", () => {
    for (const size of [0, 10, 100_000]) {
      expect(lacksCreation(segmentOf([entryOf("created", 1, size), entryOf("artifact", 2, 5)]))).toBe(false);
      for (const kind of others) {
        expect(lacksCreation(segmentOf([entryOf(kind, 1, size), entryOf("status", 2, 5)])), kind).toBe(true);
      }
    }
  });

  it("leaves alone what it does not understand", () => {
    for (const bytes of [[], [0], [1, 0x31], [3, 8, 1, 0x3a], [9, 8, 1], [4, 8, 2, 0x3a, 0], [2, 0xff, 0xff]]) {
      expect(lacksCreation(Uint8Array.from(bytes))).toBe(false);
    }
  });
});

describe("sqliteStore() with a file of an older version", () => {
  it("removes tasks whose log does not begin with being created, and nothing else", async () => {
    for (const version of [2, 4]) {
      const path = temporaryFile();
      const db = openDatabase(path);
      db.pragma("journal_mode = WAL");
      migrate(db, version);
      const columns = version === 2 ? "(task_id, last, count, bytes)" : "(task_id, last, count, bytes, blob)";
      for (const [index, kind] of (["created", ...others] as const).entries()) {
        const head = headOf({ taskId: kind, position: 1, statusTime: index });
        db.command("INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").run(
          ...[kind, head.tenant, head.owner, head.contextId, head.state, head.statusTime, 1, 1, null],
          ...["holder", 5, 1, 1],
        );
        const bytes = segmentOf([entryOf(kind, 1, 2_000)]);
        const blob =
          version === 2 ? [] : [db.command("INSERT INTO blob (bytes) VALUES (?)").run(bytes).lastInsertRowid];
        const values = [kind, 1, 1, version === 2 ? bytes : new Uint8Array(0), ...blob];
        db.command(`INSERT INTO segment ${columns} VALUES (${values.map(() => "?").join(", ")})`).run(...values);
        db.command("INSERT INTO send VALUES (?, ?, ?, ?, ?, ?)").run(head.tenant, head.owner, kind, "f", kind, 1);
      }
      db.command("INSERT INTO counter VALUES (?, ?, ?, ?)").run(OWNER.tenant, OWNER.owner, 2, 4);
      db.close();
      const store = sqliteStore(path);
      const { heads, total } = await store.list({ ...OWNER, limit: 10 });
      expect([heads.map(({ taskId }) => taskId), total]).toEqual([["created"], 1]);
      for (const kind of others) {
        expect(await store.load({ taskId: kind })).toBeUndefined();
        expect(await store.findSend({ ...OWNER, key: kind })).toBeUndefined();
      }
      expect(await store.findSend({ ...OWNER, key: "created" })).toMatchObject({ taskId: "created" });
      expect((await store.read({ taskId: "created", after: 0, limit: 10 }))[0]?.length).toBeGreaterThan(2_000);
      await store.close();
      const after = openDatabase(path);
      for (const table of ["head", "segment", "send", "blob"]) {
        expect(after.values(`SELECT count(*) FROM ${table}`).get(), table).toBe(1);
      }
      after.close();
    }
  });
});
