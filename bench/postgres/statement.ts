import type { BenchDatabase, Transactions } from "./database.js";

/** Appends in one statement, and clients that send it: as many as the store has statements at once. */
export const APPENDS = 256;
export const CLIENTS = 2;

const NULLS = (count: number): string => Array.from({ length: count }, () => "NULL").join(", ");

/** Events a second of `pgbench` with the statement of the store, `APPENDS` events each, prepared in a table. */
export async function ofSameStatement(
  database: BenchDatabase,
  schema: string,
  bytes: number,
  seconds: number,
): Promise<Transactions> {
  const all = (value: string): string => `array_fill(${value}, ARRAY[${APPENDS}])`;
  const head = "b.ids, b.empty, b.owners, b.ids, b.states, b.times";
  const positions = (expected: string): string =>
    `${all(`(${expected})::bigint`)}, ${all(`(${expected} + 1)::bigint`)}, b.times`;
  const segments = (last: string): string => `b.numbers, ${all(`(${last})::bigint`)}, b.counts, b.bytes`;
  database.psql(`
    CREATE TABLE ${schema}.batch AS SELECT c AS client,
      array_agg('bench ' || c || ' ' || lpad(i::text, 30, '0') ORDER BY i) AS ids,
      ${all("''::text")} AS empty, ${all("'owner'::text")} AS owners, ${all("2::smallint")} AS states,
      ${all("1000::bigint")} AS times, ${all("'a process of the bench'::text")} AS holders, ${all("1")} AS attempts,
      ${all("1::bigint")} AS turns, array_agg(i ORDER BY i) AS numbers, ${all("1")} AS counts,
      ${all(`decode(repeat('78', ${bytes + 2}), 'hex')`)} AS bytes
    FROM generate_series(0, ${CLIENTS - 1}) c, generate_series(1, ${APPENDS}) i GROUP BY c;
    SELECT count(*) FROM ${schema}.batch b, LATERAL ${schema}.append_1(${head}, ${positions("0")}, NULL, NULL,
      b.holders, b.turns, b.attempts, ${NULLS(15)}, ${segments("1")});
  `);
  const statement =
    `\\set p :p + 1\nSELECT count(*) FROM ${schema}.batch b, LATERAL ${schema}.append_1(${head}, ${positions(":p")}, ` +
    `b.holders, b.attempts, NULL, NULL, NULL, ${NULLS(15)}, ${segments(":p + 1")}) WHERE b.client = :client_id;\n`;
  const { perSecond, databaseMicros } = await database.pgbench(statement, CLIENTS, seconds);
  // A refused append would be a fast one.
  const stored = Number(database.psql(`SELECT count(*) FROM ${schema}.segment`));
  if (stored < APPENDS * perSecond * seconds * 0.5) throw new Error(`pgbench stored only ${stored} events`);
  return { perSecond: perSecond * APPENDS, databaseMicros: databaseMicros / APPENDS };
}

/** Events a second of `pgbench` with an insertion of the same bytes, one a commit, by 16 clients. */
export function ofPlainInsert(database: BenchDatabase, bytes: number, seconds: number): Promise<Transactions> {
  database.psql(
    "CREATE TABLE plain (task text, position bigint, bytes bytea, PRIMARY KEY (task, position)); CREATE SEQUENCE n CACHE 1000;",
  );
  const insert = `INSERT INTO plain VALUES (:client_id::text || 'b', nextval('n'), decode(repeat('78', ${bytes}), 'hex'));\n`;
  return database.pgbench(insert, 16, seconds);
}
