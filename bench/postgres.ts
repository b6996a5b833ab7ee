// Appends to the PostgreSQL store, beside `pgbench` with an insertion of the same bytes, and beside one insertion a commit
// by the driver: `npm run bench:postgres`. Starts a server of its own, and needs its programs (Debian: postgresql).

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { postgresStore } from "../src/store/postgres/index.js";
import type { TaskRow } from "../src/store/task-store.js";
import { PostgresServer, programs } from "../test/store/postgres/server.js";

const SECONDS = Number(process.argv[2] ?? 5);
const CALLERS = 256;
const entry = new Uint8Array(300).fill(120);

const bin = programs();
if (bin === undefined) throw new Error("PostgreSQL is not installed (Debian: apt-get install postgresql)");
const server = new PostgresServer(bin, { shared_buffers: "256MB" });
try {
  console.log(`durable events of ${entry.length} bytes, ${CALLERS} tasks at once, ${SECONDS} s each`);
  const store = await ofStore();
  const single = await ofDriver();
  const bench = ofPgbench();
  show("parley-a2a/store/postgres", store);
  show("pg, one insertion a commit", single);
  console.log(`${"pgbench, the same insertion".padEnd(28)} ${bench.toFixed(0).padStart(7)} events/s`);
  console.log(`store / pgbench: ${(store.rate / bench).toFixed(2)}`);
} finally {
  server.stop();
}

interface Measured {
  readonly rate: number;
  /** CPU time of this process for each event, in microseconds. */
  readonly cpu: number;
}

function show(name: string, { rate, cpu }: Measured): void {
  console.log(
    `${name.padEnd(28)} ${rate.toFixed(0).padStart(7)} events/s, ${cpu.toFixed(1)} microseconds of Node.js each`,
  );
}

/** Runs `once` for each caller again and again. */
async function measure(once: (caller: number) => Promise<unknown>): Promise<Measured> {
  let events = 0;
  let isOver = false;
  const usage = process.cpuUsage();
  const begun = performance.now();
  setTimeout(() => (isOver = true), SECONDS * 1_000);
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      for (; !isOver; events++) await once(caller);
    }),
  );
  const { user, system } = process.cpuUsage(usage);
  return { rate: (events * 1_000) / (performance.now() - begun), cpu: (user + system) / events };
}

async function ofStore(): Promise<Measured> {
  const store = await postgresStore(server.url);
  const rows: TaskRow[] = Array.from({ length: CALLERS }, (_, index) => ({
    ...{ taskId: `task ${index}`, tenant: "", owner: "owner", contextId: `context ${index}` },
    ...{ state: TaskState.WORKING, statusTime: 1_000, position: 0, generation: 0 },
  }));
  const append = async (caller: number): Promise<void> => {
    const before = rows[caller] as TaskRow;
    const head = { ...before, position: before.position + 1, generation: before.generation + 1 };
    await store.append({ head, expected: before.position, creates: before.position === 0, entries: [entry] });
    rows[caller] = head;
  };
  for (let caller = 0; caller < CALLERS; caller++) await append(caller);
  const measured = await measure(append);
  await store.close();
  return measured;
}

async function ofDriver(): Promise<Measured> {
  const { default: driver } = await import("pg");
  const pool = new driver.Pool({ connectionString: server.url, max: 16 });
  await pool.query("CREATE TABLE plain (task text, position bigint, bytes bytea, PRIMARY KEY (task, position))");
  const positions = new Array<number>(CALLERS).fill(0);
  const bytes = Buffer.from(entry);
  const measured = await measure((caller) => {
    const position = (positions[caller] ?? 0) + 1;
    positions[caller] = position;
    const values = [`task ${caller}`, position, bytes];
    return pool.query({ name: "insert", text: "INSERT INTO plain VALUES ($1, $2, $3)", values });
  });
  await pool.end();
  return measured;
}

/** Transactions of one insertion each, by 16 sessions. */
function ofPgbench(): number {
  const script = join(server.folder, "insert.sql");
  writeFileSync(
    script,
    "INSERT INTO plain VALUES (:client_id::text || 'b', nextval('n'), decode(repeat('78', 300), 'hex'));\n",
  );
  execFileSync(join(bin as string, "psql"), ["-d", server.url, "-qc", "CREATE SEQUENCE n CACHE 1000"]);
  const args = ["-n", "-M", "prepared", "-c", "16", "-j", "1", "-T", `${SECONDS}`, "-f", script, "-d", server.url];
  const out = execFileSync(
    join(bin as string, "pgbench"),
    args.filter((each) => each !== "-d"),
    { encoding: "utf8" },
  );
  return Number(/tps = ([\d.]+)/.exec(out)?.[1] ?? Number.NaN);
}
