import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { bytesOf, create, follow, followRequest, headOf, numbered, readAll } from "../../../contract/setup.js";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../../../src/store/postgres/index.js";
import { PostgresServer, programs } from "./server.js";

const bin = programs();

/** Statements of these tests on a connection of their own. */
async function run(server: PostgresServer, sql: string): Promise<unknown[]> {
  const { default: driver } = await import("pg");
  const client = new driver.Client(server.url);
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: "array" })).rows as unknown[];
  } finally {
    await client.end();
  }
}

describe.skipIf(bin === undefined)("postgresStore", () => {
  const server = bin === undefined ? (undefined as never) : new PostgresServer(bin);
  afterAll(() => server.end());
  const opened: PostgresStore[] = [];
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  let count = 0;
  const open = async (options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> => {
    const store = await postgresStore({ url: server.url, schema: `s${++count}`, timeoutMs: 2_000, ...options });
    opened.push(store);
    return store;
  };

  it("commits appends of many tasks together", async () => {
    const store = await open();
    await Promise.all(Array.from({ length: 500 }, (_, index) => create(store, { taskId: `t${index}` })));
    expect(store.statistics.writes).toBe(500);
    expect(store.statistics.commits).toBeLessThan(20);
  });

  it("tells other stores which tasks have changed, and not itself", async () => {
    const [one, two] = [await open({ schema: "hints" }), await open({ schema: "hints" })];
    const [here, there]: [string[], string[]] = [[], []];
    const [a, b] = [one.signals?.join("a"), two.signals?.join("b")];
    a?.onChanged((ids) => here.push(...ids));
    b?.onChanged((ids) => there.push(...ids));
    await expect
      .poll(() => {
        a?.changed(`probe ${Math.random()}`);
        return there.length;
      })
      .toBeGreaterThan(0);
    there.length = 0;
    const ids = Array.from({ length: 400 }, (_, index) => `task, "${index}" ${"x".repeat(40)}`);
    for (const id of ids) a?.changed(id);
    await expect.poll(() => ids.filter((id) => !there.includes(id))).toEqual([]);
    expect(here).toEqual([]);
  });

  it("hears other stores on a new connection after its own delivers nothing", async () => {
    const schema = "silenced";
    // A statement on the stopped connection must not end it before its heartbeat is missed.
    const [one, two] = [await open({ schema, timeoutMs: 60_000 }), await open({ schema, timeoutMs: 60_000 })];
    const [a, b] = [one.signals?.join("a"), two.signals?.join("b")];
    let heard = 0;
    b?.onChanged((ids) => (heard += ids.length));
    const hearsMore = (): Promise<void> => {
      const before = heard;
      const probe = (): number => {
        a?.changed(`probe ${Math.random()}`);
        return heard;
      };
      return expect.poll(probe, { timeout: 25_000 }).toBeGreaterThan(before);
    };
    const listening = `SELECT pid FROM pg_stat_activity WHERE query ~ 'LISTEN parley_${schema}|pg_notify' AND pid <> pg_backend_pid()`;
    await hearsMore();
    const pids = (await run(server, listening)) as [number][];
    expect(pids).toHaveLength(2);
    for (const [pid] of pids) process.kill(pid, "SIGSTOP");
    try {
      await hearsMore();
      const later = (await run(server, listening)) as [number][];
      expect(later.filter(([pid]) => !pids.some(([old]) => old === pid))).toHaveLength(2);
    } finally {
      for (const [pid] of pids) process.kill(pid, "SIGCONT");
    }
  });

  it("goes on after the server was killed, with all that was acknowledged and nothing twice", async () => {
    const store = await open();
    let head = await create(store, { taskId: "a", position: 0 + 1 });
    let stored = 1;
    const appending = (async () => {
      for (let failures = 0; failures < 40 && stored < 400; ) {
        try {
          head = await follow(store, head);
          stored = head.position;
        } catch {
          failures++;
          await sleep(100);
          const there = await store.head({ taskId: "a" }).catch(() => undefined);
          // A write that failed may have been stored; one that was acknowledged is.
          if (there !== undefined) expect(there.position).toBeGreaterThanOrEqual(head.position);
          if (there !== undefined) head = { ...head, position: there.position, generation: there.generation };
        }
      }
    })();
    await expect.poll(() => stored, { timeout: 10_000 }).toBeGreaterThan(20);
    server.stop("immediate");
    await expect.poll(() => store.health.status.healthy, { timeout: 5_000 }).toBe(false);
    server.start();
    await expect.poll(() => store.health.status.healthy, { timeout: 10_000 }).toBe(true);
    await appending;
    expect(stored).toBeGreaterThanOrEqual(400);
    expect(await readAll(store, "a")).toEqual(Array.from({ length: head.position }, (_, index) => `${index + 1}`));
  }, 60_000);

  it("hears other stores again after its connections were ended", async () => {
    const [one, two] = [await open({ schema: "ended" }), await open({ schema: "ended" })];
    const there: string[] = [];
    const [a, b] = [one.signals?.join("a"), two.signals?.join("b")];
    b?.onChanged((ids) => there.push(...ids));
    await run(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley'");
    let made = 0;
    await expect
      .poll(
        () => {
          a?.changed(`after ${++made}`);
          return there.some((id) => id.startsWith("after"));
        },
        { timeout: 10_000, interval: 200 },
      )
      .toBe(true);
  });

  it("calls an append whose commit warned of its standby uncertain, and keeps it", async () => {
    const store = await open();
    let head = await create(store, { taskId: "a" });
    await run(server, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    await run(server, "SELECT pg_reload_conf()");
    try {
      const waits = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
      let append: Promise<unknown>;
      let state: string;
      // Commits do not wait until the server has read the setting.
      for (;;) {
        state = "open";
        append = store.append(followRequest(head));
        const settle = (outcome: string) => (): void => {
          state = outcome;
        };
        append.then(settle("stored"), settle("failed"));
        await expect.poll(async () => state !== "open" || (await run(server, waits)).length > 0).toBe(true);
        if (state !== "stored") break;
        head = { ...head, position: head.position + 1, generation: head.generation + 1 };
      }
      // Other commits may wait as well.
      const end = async (): Promise<string> => {
        await run(server, `SELECT pg_cancel_backend(pid) FROM (${waits}) w`);
        return state;
      };
      await expect.poll(end).toBe("failed");
      await expect(append).rejects.toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("synchronous replication"),
      });
      expect((await store.head({ taskId: "a" }))?.position).toBe(head.position + 1);
    } finally {
      await run(server, "ALTER SYSTEM RESET synchronous_standby_names");
      await run(server, "SELECT pg_reload_conf()");
    }
  });

  it("fails writes in a bounded time while rows are locked, and stores them afterwards", async () => {
    const store = await open({ schema: "locked" });
    const head = await create(store, { taskId: "a" });
    const { default: driver } = await import("pg");
    const client = new driver.Client(server.url);
    await client.connect();
    await client.query("BEGIN");
    await client.query("SELECT 1 FROM locked.task FOR UPDATE");
    await expect(store.append(followRequest(head))).rejects.toMatchObject({ kind: "unavailable" });
    await client.query("ROLLBACK");
    await client.end();
    await expect.poll(async () => (await store.head({ taskId: "a" }))?.position).toBe(2);
  });

  it("undoes only the append that PostgreSQL cannot store", async () => {
    const store = await open();
    const results = await Promise.allSettled([
      create(store, { taskId: "good" }),
      create(store, { taskId: "zero", contextId: "a\0b" }),
      create(store, { taskId: "other" }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(results[1]).toMatchObject({ reason: { name: "StoreError", kind: "failed" } });
  });

  it("lets one of two processes create a task, or use a key, when both try at once", async () => {
    const [one, two] = [await open({ schema: "race" }), await open({ schema: "race" })];
    for (let round = 0; round < 20; round++) {
      const send = { tenant: "t", owner: "o", key: `${round}`, fingerprint: "f", position: 1 };
      const appends = [one, two].map((store, index) => {
        const taskId = `${round}-${index}`;
        const request = { head: headOf({ taskId }), expected: 0, creates: true, entries: numbered(0, 1) };
        return store.append({ ...request, send: { ...send, taskId } });
      });
      const results = await Promise.allSettled(appends);
      const kinds = results.map((result) => (result.status === "rejected" ? result.reason.kind : "stored")).sort();
      expect(kinds).toEqual(["duplicate", "stored"]);
      const same = [one, two].map((store) => create(store, { taskId: `same ${round}` }));
      const created = (await Promise.allSettled(same)).map((result) =>
        result.status === "rejected" ? result.reason.kind : "stored",
      );
      expect(created.sort()).toEqual(["conflict", "stored"]);
    }
  });

  it("drops the segments of a day when no task of it is left", async () => {
    const store = await open({ schema: "days" });
    const head = await create(store, { taskId: "a" });
    await follow(store, head, { state: TaskState.COMPLETED });
    // As if the log had begun a week ago.
    const [[log]] = (await run(server, "SELECT log FROM days.task")) as [[string]];
    const day = Number(BigInt(log) >> 36n) - 7;
    const [low, high] = [`${BigInt(day) << 36n}`, `${BigInt(day + 1) << 36n}`];
    await run(
      server,
      `CREATE TABLE days.segment_${day} PARTITION OF days.segment FOR VALUES FROM (${low}) TO (${high})`,
    );
    await run(
      server,
      `UPDATE days.segment SET log = log - (7::bigint << 36); UPDATE days.task SET log = log - (7::bigint << 36)`,
    );
    expect(await readAll(store, "a")).toEqual(["1", "2"]);
    expect(await store.removeFinished({ before: 2_000, limit: 10 })).toBe(1);
    const left = await run(server, `SELECT to_regclass('days.segment_${day}')`);
    expect(left).toEqual([[null]]);
    expect(await run(server, "SELECT * FROM days.garbage")).toEqual([]);
  });

  it("closes although the server of its notifications hangs", async () => {
    const store = await open({ schema: "hangs" });
    store.signals?.join("one");
    const backend = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_notify%' AND application_name = 'parley'";
    await expect.poll(() => run(server, backend)).toHaveLength(1);
    const [[pid]] = (await run(server, backend)) as [[number]];
    process.kill(pid, "SIGSTOP");
    try {
      await store.close();
    } finally {
      process.kill(pid, "SIGCONT");
    }
  });

  it("keeps the partitions of these days when the clock of a process is ahead", async () => {
    await open({ schema: "ahead" });
    const partitions =
      "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'ahead.segment'::regclass ORDER BY 1";
    const before = await run(server, partitions);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10 * 86_400_000 });
    try {
      await open({ schema: "ahead" });
    } finally {
      vi.useRealTimers();
    }
    expect(await run(server, partitions)).toEqual(before);
  });

  it("opens only a database that promises what is required, and says what it promises", async () => {
    const store = await open();
    expect(store.durability).toEqual({ level: "local", text: expect.stringContaining("synchronous_commit=on") });
    await expect(open({ require: "replicated" })).rejects.toMatchObject({
      kind: "failed",
      message: expect.stringContaining('requires durability "replicated"'),
    });
    await run(server, "ALTER DATABASE postgres SET synchronous_commit = off");
    await expect(open()).rejects.toMatchObject({ message: expect.stringContaining("synchronous_commit=off") });
    await run(server, "ALTER DATABASE postgres RESET synchronous_commit");
  });

  it("keeps the password out of errors", async () => {
    const url = `postgres://somebody:secret-word@localhost/nothing?host=${encodeURIComponent(server.folder)}`;
    const error = await postgresStore({ url }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "StoreError" });
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("secret-word");
  });

  it("names every wrong option", async () => {
    await expect(postgresStore({ url: "mysql://x", schema: "A b", connections: 0 })).rejects.toThrow(
      /url.*postgres:\/\/.*schema.*connections/,
    );
  });

  it("works without prepared statements", async () => {
    const store = await open({ prepared: false });
    const head = await create(store, { taskId: "a" });
    await store.saveSnapshot({ taskId: "a", snapshot: { position: 1, bytes: bytesOf("fold") } });
    await follow(store, head);
    expect(await readAll(store, "a")).toEqual(["1", "2"]);
  });
});
