import { PostgresServer, programs } from "../../store/postgres/server.js";
import { Home } from "./server-process.js";

/** A store that several servers share. */
export interface SharedStore {
  readonly name: string;
  /** Creates an empty store, with flags for its servers. */
  home(...flags: readonly string[]): Home;
}

let server: PostgresServer | undefined;
let schemas = 0;

const databases: readonly SharedStore[] =
  programs() === undefined ? [] : [{ name: "a PostgreSQL database", home: databaseHome }];

/** A file, and a database if PostgreSQL is installed. Call `endDatabase` after all tests. */
export const sharedStores: readonly SharedStore[] = [
  { name: "a file", home: (...flags) => new Home("--shared", ...flags) },
  ...databases,
];

/** The same stores for the workers of one server. */
export const workerStores: readonly SharedStore[] = [
  { name: "a file", home: (...flags) => new Home(...flags) },
  ...databases,
];

function databaseHome(...flags: readonly string[]): Home {
  server ??= new PostgresServer(programs() ?? "");
  const home = new Home(...flags);
  home.store = `${server.url}&schema=s${++schemas}`;
  return home;
}

/** Ends the database of this file's tests. The next file in the same process gets a new one. */
export function endDatabase(): void {
  server?.end();
  server = undefined;
}
