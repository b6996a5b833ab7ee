/** Appends to the PostgreSQL store beside `pgbench`, how their cost grows, and a long transaction elsewhere. */
import { judge } from "../goals.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import { Appending, type Cost, type Load } from "../postgres/appends.js";
import { BenchDatabase, lacksPostgres, type Transactions } from "../postgres/database.js";
import { APPENDS, ofPlainInsert, ofSameStatement } from "../postgres/statement.js";

const BYTES = 300;
const USUAL: Load = { callers: APPENDS, bytes: BYTES };

/** Time for which the transaction elsewhere is open, in seconds: 600 for the ten minutes of a forgotten session. */
const OPEN_SECONDS = Number(process.env.BENCH_TRANSACTION_S ?? 30);

const STORE = "store, 256 tasks at once";
const STATEMENT = "pgbench, the store's statement";

const perCore = ({ databaseMicros }: { readonly databaseMicros: number }): number => 1e6 / databaseMicros;

function row(name: string, cost: Cost | Transactions, of: Pick<Cost, "databaseMicros">): Row {
  return {
    name,
    figures: {
      "events/s": cost.perSecond,
      ...("nodeMicros" in cost && { "Node us/event": cost.nodeMicros }),
      "database us/event": cost.databaseMicros,
      "events/s per database core": perCore(cost),
      [`x ${STATEMENT}`]: perCore(cost) / perCore(of),
    },
  };
}

/** A store of its own for each, so that none finds what another one left. */
class Measuring {
  readonly #database: BenchDatabase;
  readonly #seconds: number;
  #schemas = 0;

  constructor(database: BenchDatabase, seconds: number) {
    this.#database = database;
    this.#seconds = seconds;
  }

  async cost(load: Load, prepare: (schema: string, appending: Appending) => void = () => {}): Promise<Cost> {
    const schema = `bench_${this.#schemas++}`;
    const appending = await Appending.open(this.#database, schema, load);
    try {
      prepare(schema, appending);
      return await appending.measure(this.#database, this.#seconds);
    } finally {
      await appending.store.close();
      this.#database.psql(`DROP SCHEMA ${schema} CASCADE`);
    }
  }

  /** Events of tasks that begin and end, before and at the end of a transaction that is open elsewhere. */
  async besideTransaction(openSeconds: number): Promise<{ readonly before: Cost; readonly beside: Cost }> {
    const schema = `bench_${this.#schemas++}`;
    const appending = await Appending.open(this.#database, schema, { ...USUAL, eventsOfTask: 20 });
    const { default: driver } = await import("pg");
    const client = new driver.Client(this.#database.url);
    await client.connect();
    try {
      const before = await appending.measure(this.#database, this.#seconds);
      await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ${schema}.task`);
      await appending.run(openSeconds * 1_000);
      return { before, beside: await appending.measure(this.#database, this.#seconds) };
    } finally {
      await client.end();
      await appending.store.close();
      this.#database.psql(`DROP SCHEMA ${schema} CASCADE`);
    }
  }
}

/** Adds tasks that are finished, of one event each, without the store. */
function addTasks(database: BenchDatabase, schema: string, count: number): void {
  database.psql(`
    WITH t AS (INSERT INTO ${schema}.task (task_id, log, tenant, owner, context_id, state, status_time)
      SELECT 'stored ' || i, (20000::bigint << 36) | i, '', 'owner ' || i % 1000, 'context ' || i, 3, i
      FROM generate_series(1, ${count}) i RETURNING log)
    INSERT INTO ${schema}.segment SELECT log, 1, 1, 1, decode(repeat('78', ${BYTES}), 'hex') FROM t;
    ANALYZE ${schema}.task, ${schema}.segment`);
}

/** Adds events to the tasks of the load, without the store. */
function addEvents(database: BenchDatabase, schema: string, appending: Appending, count: number): void {
  database.psql(`
    INSERT INTO ${schema}.segment SELECT t.log, i, 1, i, decode(repeat('78', ${BYTES}), 'hex')
    FROM ${schema}.task t, generate_series(2, ${count}) i;
    ANALYZE ${schema}.task, ${schema}.segment`);
  appending.moveTo(count);
}

async function growth(measuring: Measuring, database: BenchDatabase, quick: boolean, usual: Cost): Promise<Row[]> {
  const [tasks, events] = quick ? [1_000, 20] : [100_000, 1_000];
  const kinds: [name: string, load: Load, prepare?: (schema: string, appending: Appending) => void][] = [
    ["1 task at once", { ...USUAL, callers: 1 }],
    ["16 tasks at once", { ...USUAL, callers: 16 }],
    ["1,024 tasks at once", { ...USUAL, callers: 1_024 }],
    ["events of 3,000 bytes", { ...USUAL, bytes: 3_000 }],
    ["events of 30,000 bytes", { ...USUAL, bytes: 30_000 }],
    [`${tasks.toLocaleString("en")} tasks stored`, USUAL, (schema) => addTasks(database, schema, tasks)],
    [
      `${events.toLocaleString("en")} events in each task`,
      USUAL,
      (schema, appending) => addEvents(database, schema, appending, events),
    ],
  ];
  const rows: Row[] = [];
  for (const [name, load, prepare] of kinds) {
    const cost = await measuring.cost(load, prepare);
    const grown = cost.databaseMicros / usual.databaseMicros;
    const made = { ...row(`store, ${name}`, cost, usual) };
    const { [`x ${STATEMENT}`]: _, ...figures } = made.figures;
    const isOfTasks = name.endsWith("tasks stored");
    const isOfEvents = name.endsWith("in each task");
    const targets = [
      ...(isOfTasks ? [judge("postgresTasks", grown)] : []),
      ...(isOfEvents ? [judge("postgresEvents", grown)] : []),
    ];
    rows.push({ ...made, figures: { ...figures, "x database us": grown }, targets });
  }
  return rows;
}

async function rowsOf(bench: Bench, database: BenchDatabase): Promise<Row[]> {
  const { quick, seconds } = bench.options;
  const measuring = new Measuring(database, seconds);
  const plain = await ofPlainInsert(database, BYTES, seconds);
  // Not counted: the code of the store is compiled meanwhile.
  for (let round = 0; round < (quick ? 0 : 3); round++) await measuring.cost(USUAL);
  const usual = await measuring.cost(USUAL);
  const empty = await Appending.open(database, "statement", { ...USUAL, callers: 1 });
  await empty.store.close();
  const same = await ofSameStatement(database, "statement", BYTES, seconds);
  const { before, beside } = await measuring.besideTransaction(quick ? 1 : OPEN_SECONDS);
  const targets = [
    judge("postgresShare", perCore(usual) / perCore(same)),
    judge("postgresRate", perCore(usual)),
    judge("postgresNode", usual.nodeMicros),
  ];
  const opened = row(`store, tasks of 20 events, a transaction open for ${OPEN_SECONDS} s`, beside, same);
  return [
    row("pgbench, one insertion a commit", plain, same),
    row(STATEMENT, same, same),
    { ...row(STORE, usual, same), targets },
    row("store, tasks of 20 events", before, same),
    { ...opened, targets: [judge("postgresTransaction", beside.databaseMicros / before.databaseMicros)] },
    ...(await growth(measuring, database, quick, usual)),
  ];
}

export const postgresAppends: Scenario = {
  name: "postgres-appends",
  lacks: lacksPostgres,
  async run(bench) {
    const database = new BenchDatabase();
    try {
      return { title: `Events of ${BYTES} bytes appended to PostgreSQL`, rows: await rowsOf(bench, database) };
    } finally {
      database.stop();
    }
  },
};
