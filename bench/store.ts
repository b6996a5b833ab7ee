/**
 * Measures the stores by themselves: `node --import tsx bench/store.ts [tasks] [file]`. A task is two appends, one
 * of 1 entry and one of 3, of 200 bytes each. Numbers of SQLite depend on the disk: the file lies in the system's
 * temporary directory unless another one is named.
 */
import { randomFillSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { newId } from "../src/core/ids.js";
import { memoryStore } from "../src/store/memory/index.js";
import { type SqliteStore, sqliteStore } from "../src/store/sqlite/index.js";
import type { ListRequest, TaskRow, TaskStore } from "../src/store/task-store.js";

const tasks = Number(process.argv[2] ?? 30_000);
const directory = process.argv[3] ?? mkdtempSync(join(tmpdir(), "parley-bench-"));

const entries = Array.from({ length: 1_000 }, () => randomFillSync(new Uint8Array(200)));
const some = (count: number): Uint8Array[] => entries.slice(0, count);
const rounded = (value: number, digits = 0): string => value.toFixed(digits);

let file = 0;
const open: Record<string, () => TaskStore> = {
  memory: () => memoryStore(),
  "sqlite NORMAL": () => sqliteStore({ path: join(directory, `${file++}.db`), synchronous: "NORMAL" }),
  "sqlite FULL": () => sqliteStore({ path: join(directory, `${file++}.db`) }),
};

function headOf(index: number, contextId: string = newId()): TaskRow {
  return {
    taskId: newId(),
    tenant: "",
    owner: `owner-${index % 10}`,
    contextId,
    state: 1,
    statusTime: Date.now(),
    position: 1,
    generation: 1,
  };
}

const lease = { holder: "this process", turn: 1, attempt: 1 };

async function runTask(store: TaskStore, index: number, contextId?: string): Promise<void> {
  const head = headOf(index, contextId);
  await store.append({ head, expected: 0, creates: true, entries: some(1), lease });
  const ended = { ...head, state: 3, statusTime: Date.now(), position: 4, generation: 4 };
  await store.append({ head: ended, expected: 1, entries: some(3), fence: lease });
}

/** Runs `work` for 0 to count - 1, with so many callers at once. */
async function inParallel(callers: number, count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

const statistics = (store: TaskStore): SqliteStore["statistics"] =>
  "statistics" in store ? (store as SqliteStore).statistics : { commits: 0, writes: 0 };

async function measureTasks(name: string, callers: number, count: number): Promise<void> {
  const store = open[name]?.() ?? memoryStore();
  await inParallel(callers, Math.min(1_000, count), (index) => runTask(store, index));
  const latencies: number[] = [];
  const before = statistics(store);
  const cpu = process.cpuUsage();
  const loop = performance.eventLoopUtilization();
  const begin = performance.now();
  await inParallel(callers, count, async (index) => {
    const start = performance.now();
    await runTask(store, index);
    latencies.push(performance.now() - start);
  });
  const ms = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpu);
  const busy = performance.eventLoopUtilization(loop).active;
  const { commits, writes } = statistics(store);
  const shared = commits === before.commits ? 0 : (writes - before.writes) / (commits - before.commits);
  latencies.sort((a, b) => a - b);
  const at = (part: number): string => rounded(latencies[Math.floor(latencies.length * part)] ?? 0, 1);
  console.log(
    `${name.padEnd(14)} ${String(callers).padStart(4)} callers  ${rounded((count / ms) * 1000).padStart(7)} tasks/s  ` +
      `${rounded((count / ms) * 2000).padStart(7)} appends/s  ${rounded(shared, 1).padStart(6)} writes/commit  ` +
      `per append: ${rounded((busy * 1000) / count / 2, 1)} µs of the event loop, ` +
      `${rounded((user + system) / count / 2, 1)} µs of all CPUs  ` +
      `task ms: p50 ${at(0.5)} p99 ${at(0.99)} max ${at(0.99999)}`,
  );
  await store.close();
}

/** One task that grows: appends of one entry by one caller, which is a stream whose agent waits for the store. */
async function measureStream(name: string, count: number): Promise<void> {
  const store = open[name]?.() ?? memoryStore();
  const head = headOf(0);
  await store.append({ head, expected: 0, creates: true, entries: some(1) });
  const begin = performance.now();
  for (let position = 2; position <= count; position++) {
    const grown = { ...head, position, generation: position };
    await store.append({ head: grown, expected: position - 1, entries: some(1) });
  }
  const ms = performance.now() - begin;
  console.log(`${name.padEnd(14)} one task, one entry at a time: ${rounded((count / ms) * 1000)} appends/s`);
  await store.close();
}

async function measureLongTask(name: string, million: number): Promise<void> {
  const store = open[name]?.() ?? memoryStore();
  const head = headOf(0);
  const { taskId } = head;
  let begin = performance.now();
  for (let after = 0; after < million; after += entries.length) {
    const position = after + entries.length;
    await store.append({
      head: { ...head, position, generation: position },
      expected: after,
      creates: after === 0,
      entries,
    });
  }
  const written = performance.now() - begin;
  begin = performance.now();
  for (let after = 0; after < million; ) after += (await store.read({ taskId, after, limit: 1_000 })).length;
  const walked = performance.now() - begin;
  const places: string[] = [];
  for (const after of [0, million / 2, million - 10]) {
    begin = performance.now();
    for (let look = 0; look < 1_000; look++) await store.read({ taskId, after: after + (look % 9), limit: 1 });
    places.push(rounded(performance.now() - begin, 1));
  }
  console.log(
    `${name.padEnd(14)} a task of ${million} entries: written in ${rounded(written)} ms, walked in ${rounded(walked)} ms; ` +
      `one entry from its begin, middle, end: ${places.join(", ")} µs`,
  );
  await store.close();
}

async function measureReads(name: string, sizes: readonly number[]): Promise<void> {
  const store = open[name]?.() ?? memoryStore();
  const contexts = Array.from({ length: 50 }, newId);
  let stored = 0;
  for (const size of sizes) {
    const more = size - stored;
    // One owner in ten has a tenth of the tasks; the page is one of 50.
    await inParallel(500, more, (index) => runTask(store, index, contexts[index % contexts.length]));
    stored = size;
    const page = await measureLists(store, contexts[0] ?? "");
    const { heads } = await store.list({ tenant: "", owner: "owner-0", limit: 50 });
    const ids = heads.map((head) => head.taskId);
    const point = await perCall(2_000, (index) => store.head({ taskId: ids[index % ids.length] ?? "" }));
    const read = await perCall(2_000, (index) =>
      store.read({ taskId: ids[index % ids.length] ?? "", after: 1, limit: 10 }),
    );
    const load = await perCall(2_000, (index) => store.load({ taskId: ids[index % ids.length] ?? "" }));
    console.log(
      `${name.padEnd(14)} with ${size} tasks: head ${point} µs, read ${read} µs, load ${load} µs; list ${page}`,
    );
  }
  await store.close();
}

async function measureLists(store: TaskStore, contextId: string): Promise<string> {
  const all: ListRequest = { tenant: "", owner: "owner-0", limit: 50 };
  const { heads } = await store.list(all);
  const last = heads.at(-1);
  const after = { statusTime: last?.statusTime ?? 0, taskId: last?.taskId ?? "" };
  const requests: Record<string, ListRequest> = {
    "first page": all,
    "next page": { ...all, after },
    "one state": { ...all, state: 3 },
    "one context": { ...all, contextId },
    "the newest 50 by time": { ...all, statusFrom: after.statusTime },
  };
  const times: string[] = [];
  for (const [what, request] of Object.entries(requests)) {
    times.push(`${what} ${await perCall(300, () => store.list(request))} µs`);
  }
  return times.join(", ");
}

async function perCall(count: number, call: (index: number) => Promise<unknown>): Promise<string> {
  for (let index = 0; index < count / 10; index++) await call(index);
  const begin = performance.now();
  for (let index = 0; index < count; index++) await call(index);
  return rounded(((performance.now() - begin) * 1000) / count, 1);
}

for (const name of Object.keys(open)) {
  for (const callers of [1, 50, 500]) await measureTasks(name, callers, callers === 1 ? tasks / 10 : tasks);
}
for (const name of Object.keys(open)) await measureStream(name, tasks / 10);
for (const name of ["memory", "sqlite FULL"]) await measureLongTask(name, 1_000_000);
for (const name of ["memory", "sqlite FULL"]) await measureReads(name, [1_000, 100_000]);

if (process.argv[3] === undefined) rmSync(directory, { recursive: true, force: true });
