import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { bytesOf, create, followRequest, headOf, readAll } from "../../../contract/setup.js";
import { type CopyCounts, copyStore } from "../../../src/store/copy/copy.js";
import type { CopySource, CopyTarget } from "../../../src/store/copy/records.js";
import { postgresSource } from "../../../src/store/postgres/copy-source.js";
import { postgresTarget } from "../../../src/store/postgres/copy-target.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { sqliteSource } from "../../../src/store/sqlite/copy-source.js";
import { sqliteTarget } from "../../../src/store/sqlite/copy-target.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import type { TaskStore } from "../../../src/store/task-store.js";
import { PostgresServer, programs } from "../postgres/server.js";
import { contentOf, fill, histories } from "./content.js";

const bin = programs();

/** Copies and closes both. */
async function copy(source: CopySource, target: CopyTarget): Promise<CopyCounts> {
  try {
    return await copyStore(source, target);
  } finally {
    await target.close();
    await source.close();
  }
}

async function using<T>(store: TaskStore, use: (store: TaskStore) => Promise<T>): Promise<T> {
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

describe.skipIf(bin === undefined)("copyStore()", () => {
  const server = bin === undefined ? (undefined as never) : new PostgresServer(bin, { fsync: "off" });
  afterAll(() => server.end());
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "parley-copy-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  let count = 0;
  const address = (): string => `${server.url}&schema=s${++count}`;
  const file = (): string => join(folder, `${++count}.db`);
  const open = (place: string): Promise<TaskStore> | TaskStore =>
    place.startsWith("postgres") ? postgresStore({ url: place, require: "none" }) : sqliteStore(place);

  it("keeps everything that a store returns, to PostgreSQL and back", async () => {
    const property = fc.asyncProperty(histories, async (steps) => {
      const [from, between, to] = [file(), address(), file()];
      await using(sqliteStore(from), (store) => fill(store, steps));
      const before = await using(sqliteStore(from), contentOf);
      await copy(sqliteSource(from), await postgresTarget(between));
      expect(await using(await open(between), contentOf)).toEqual(before);
      await copy(await postgresSource(between), sqliteTarget(to));
      expect(await using(await open(to), contentOf)).toEqual(before);
      // Counters and limits continue from the copied values. The order of deliveries that are due at the same time may
      // differ.
      const more = steps.filter((step) => step.do !== "deliver").slice(0, 20);
      for (const place of [from, to]) await using(await open(place), (store) => fill(store, more));
      expect(await using(await open(to), contentOf)).toEqual(await using(await open(from), contentOf));
    });
    await fc.assert(property, { numRuns: 8, endOnFailure: true });
  }, 120_000);

  it("moves a task of a million entries, in batches of bounded size", async () => {
    const [from, between, to] = [file(), address(), file()];
    const entries = Array.from({ length: 20_000 }, (_, index) => bytesOf(`${index}`));
    await using(sqliteStore(from), async (store) => {
      let position = 0;
      for (; position < 1_000_000; position += entries.length) {
        const head = headOf({ taskId: "long", position: position + entries.length });
        await store.append({ head, expected: position, creates: position === 0, entries });
      }
      let head = await create(store, { taskId: "wide" });
      for (let index = 0; index < 20; index++) {
        const request = followRequest(head);
        await store.append({ ...request, entries: [new Uint8Array(1024 * 1024).fill(index)] });
        head = { ...head, ...request.head };
      }
    });
    const sizes: number[] = [];
    const noted = (target: CopyTarget): CopyTarget => ({
      ...target,
      write: (batch) => {
        const bytes = batch.rows.flat().map((value) => (value instanceof Uint8Array ? value.length : 8));
        sizes.push(bytes.reduce((sum, size) => sum + size, 0));
        return target.write(batch);
      },
    });
    const counts = await copy(sqliteSource(from), noted(await postgresTarget(between)));
    expect(counts).toMatchObject({ task: 2, entry: 1_000_021 });
    expect(await copy(await postgresSource(between), noted(sqliteTarget(to)))).toEqual(counts);
    // One more entry than the size of a batch, and its other columns.
    expect(Math.max(...sizes)).toBeLessThan(2.5 * 1024 * 1024);
    await using(await open(to), async (store) => {
      expect(await store.read({ taskId: "long", after: 999_998, limit: 9 })).toEqual(entries.slice(-2));
      expect((await store.head({ taskId: "wide" }))?.position).toBe(21);
    });
  }, 120_000);

  it("keeps leases and their attempts for the first process that claims them", async () => {
    const [from, to] = [file(), address()];
    await using(sqliteStore(from), (store) =>
      create(store, { taskId: "a", lease: { holder: "dead", turn: 1, attempt: 2 } }),
    );
    await copy(sqliteSource(from), await postgresTarget(to));
    const claimed = await using(await open(to), (store) =>
      store.claimLeases({ holder: "new", leaseMs: 600_000, limit: 9 }),
    );
    expect(claimed.map(({ taskId, lease }) => [taskId, lease])).toEqual([
      ["a", { holder: "new", turn: 1, attempt: 3 }],
    ]);
  });

  it("refuses a store in use, one with tasks, an older one, and a missing one", async () => {
    const [one, other, place] = [file(), file(), address()];
    const store = sqliteStore(one);
    expect(() => sqliteSource(one)).toThrow("has it open");
    expect(() => sqliteTarget(one)).toThrow("has it open");
    await create(store, { taskId: "a" });
    await store.close();
    expect(() => sqliteTarget(one)).toThrow("it has tasks");
    expect(() => sqliteSource(other)).toThrow("it does not exist");
    await expect(postgresSource(place)).rejects.toThrow('run "parley migrate"');

    const live = await open(place);
    const beat = async (): Promise<void> =>
      void (await live.heartbeat({ holder: "live", leaseMs: 1_000, again: false, maxStallMs: 0 }));
    await beat();
    const beats = setInterval(beat, 200);
    try {
      await expect(postgresSource(place)).rejects.toThrow("its heartbeats change. End all servers of it first");
      await expect(postgresTarget(place)).rejects.toThrow("its heartbeats change");
      await create(live, { taskId: "a" });
      await expect(postgresTarget(place)).rejects.toThrow("it has tasks");
    } finally {
      clearInterval(beats);
      await live.close();
    }
  });

  it("does not finish a copy of a store that was used meanwhile", async () => {
    const [from, between, to] = [file(), address(), file()];
    await using(sqliteStore(from), (store) => create(store, { taskId: "a" }));
    await copy(sqliteSource(from), await postgresTarget(between));
    const source = await postgresSource(between);
    const live = await open(between);
    const target = sqliteTarget(to);
    const read = target.read;
    target.read = () => {
      void create(live, { taskId: "b" });
      return read();
    };
    const slow = { ...source, read: () => late(source.read()) };
    await expect(copy(slow, target)).rejects.toThrow(/differs from|task b/);
    await live.close();
    expect(() => sqliteStore(to)).toThrow('the target of an unfinished "parley store copy"');

    const again = await postgresSource(between);
    const other = await open(between);
    const unfinished = { ...sqliteTarget(to), finish: async () => void (await other.heartbeat(beatOf("late"))) };
    await expect(copy(again, unfinished)).rejects.toThrow("its heartbeats change");
    await other.close();
  });

  it("does not serve an unfinished target, and starts over", async () => {
    const from = file();
    await using(sqliteStore(from), async (store) => {
      for (let index = 0; index < 20; index++) await create(store, { taskId: `t${index}` }, 3);
    });
    for (const [place, target] of [
      [address(), postgresTarget],
      [file(), sqliteTarget],
    ] as const) {
      const source = sqliteSource(from);
      const broken = await target(place);
      const write = broken.write;
      broken.write = async (batch) => {
        await write(batch);
        if (batch.kind === "segment") throw new Error("the cable was pulled");
      };
      await expect(copy(source, broken)).rejects.toThrow("the cable was pulled");
      await expect((async () => open(place))()).rejects.toThrow('the target of an unfinished "parley store copy"');
      expect(await copy(sqliteSource(from), await target(place))).toMatchObject({ task: 20, entry: 60 });
      await using(await open(place), async (store) => expect(await readAll(store, "t7")).toEqual(["1", "2", "3"]));
    }
  });

  it("fails as unavailable when the database is lost, and leaves no store to serve", async () => {
    const own = new PostgresServer(bin ?? "", { fsync: "off" });
    try {
      const from = file();
      await using(sqliteStore(from), (store) => create(store, { taskId: "a" }));
      const target = await postgresTarget(own.url);
      const write = target.write;
      target.write = async (batch) => {
        if (batch.kind === "segment") own.stop("immediate");
        return write(batch);
      };
      await expect(copy(sqliteSource(from), target)).rejects.toMatchObject({ kind: "unavailable" });
      own.start();
      await expect(postgresStore({ url: own.url })).rejects.toThrow("unfinished");
      await copy(sqliteSource(from), await postgresTarget(own.url));
    } finally {
      own.end();
    }
  });
});

function beatOf(holder: string): { holder: string; leaseMs: number; again: boolean; maxStallMs: number } {
  return { holder, leaseMs: 60_000, again: false, maxStallMs: 0 };
}

/** Yields after a while. */
async function* late<T>(all: AsyncIterable<T>): AsyncIterable<T> {
  await new Promise((resolve) => setTimeout(resolve, 300));
  yield* all;
}
