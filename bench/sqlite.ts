/**
 * Measures the store's own statements on one driver of SQLite and one Node.js:
 * `[PARLEY_SQLITE_DRIVER=@photostructure/sqlite] node --import tsx bench/sqlite.ts [rounds] [file]`. A round is a commit of 50 new tasks,
 * as the writer's thread does it, and 50 reads of single tasks. Rates depend on the disk and on other processes; CPU time
 * hardly does. `synchronous` is FULL, and NORMAL to measure the costs without the disk.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { newId } from "../src/core/ids.js";
import { writeEntries } from "../src/store/segment.js";
import { Committer } from "../src/store/sqlite/commit.js";
import { openReader, openWriter, type Synchronous } from "../src/store/sqlite/connection.js";
import { sqliteDriver, useDriver } from "../src/store/sqlite/driver/choose.js";
import type { DriverName } from "../src/store/sqlite/driver/driver.js";
import { prepareFile } from "../src/store/sqlite/open.js";
import { Reader } from "../src/store/sqlite/reader.js";
import type { AppendWrite } from "../src/store/sqlite/write.js";

const BATCH = 50;
const rounds = Number(process.argv[2] ?? 400);
const directory = process.argv[3] ?? mkdtempSync(join(tmpdir(), "parley-bench-"));

const asked = process.env.PARLEY_SQLITE_DRIVER;
if (asked !== undefined) useDriver(asked as DriverName);

const bytes = new Uint8Array(202);
writeEntries(bytes, 0, [new Uint8Array(200).fill(7)]);

function insert(): AppendWrite {
  const head = { tenant: "", owner: "owner", contextId: newId(), state: 1, statusTime: Date.now() };
  return {
    method: "append",
    head: { ...head, taskId: newId(), position: 1, generation: 1 },
    expected: 0,
    finishes: false,
    segments: [{ count: 1, bytes }],
    send: undefined,
    pushConfig: undefined,
    conversation: undefined,
    time: 0,
    fence: undefined,
    lease: { holder: "this process", turn: 1, attempt: 1 },
  };
}

/** Microseconds of wall time and of CPU time. */
interface Cost {
  wall: number;
  cpu: number;
}

function measured(cost: Cost, work: () => void): void {
  const cpu = process.cpuUsage();
  const begin = performance.now();
  work();
  cost.wall += (performance.now() - begin) * 1_000;
  const { user, system } = process.cpuUsage(cpu);
  cost.cpu += user + system;
}

function run(synchronous: Synchronous): { commits: Cost; reads: Cost } {
  const { path, lock } = prepareFile(join(directory, `${synchronous}.db`), false);
  const writer = openWriter({ path, synchronous });
  const connection = openReader(path);
  const committer = new Committer(writer, []);
  const reader = new Reader(connection);
  const costs = { commits: { wall: 0, cpu: 0 }, reads: { wall: 0, cpu: 0 } };
  for (let round = -Math.ceil(rounds / 10); round < rounds; round++) {
    const writes = Array.from({ length: BATCH }, insert);
    const { commits, reads } = round < 0 ? { commits: { wall: 0, cpu: 0 }, reads: { wall: 0, cpu: 0 } } : costs;
    measured(commits, () => committer.commit(writes));
    measured(reads, () => {
      for (const { head } of writes) reader.call("head", { taskId: head.taskId });
    });
  }
  connection.close();
  writer.close();
  lock.release();
  return costs;
}

const { name, version } = sqliteDriver();
for (const synchronous of ["FULL", "NORMAL"] as const) {
  const { commits, reads } = run(synchronous);
  const each = ({ wall, cpu }: Cost, count: number): string =>
    `${(wall / count).toFixed(1)} µs (CPU ${(cpu / count).toFixed(1)})`;
  console.log(
    `node ${process.version} ${name} ${version} ${synchronous}: commit of ${BATCH} ${each(commits, rounds)}, ` +
      `one insert ${each(commits, rounds * BATCH)}, one point read ${each(reads, rounds * BATCH)}`,
  );
}

if (process.argv[3] === undefined) rmSync(directory, { recursive: true, force: true });
