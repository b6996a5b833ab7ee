import type { Command } from "commander";
import type { Io } from "./io.js";

const migrateHelp = `
It creates the tables of an empty database or a missing file, and brings older ones to the schema of this release. Servers of the
previous release may use a PostgreSQL database meanwhile. Interrupted, it continues where it was when it is run again; several at
once wait for each other. A server that is started with "--migrate check" leaves this to you.
Exit code 2: a wrong address, another application's file, or a later release's schema; 75: the database cannot be reached or a
transaction locks its tables, or the disk is full.
`;

/** Adds the commands that prepare a store and move it. Their dependencies are loaded on use. */
export function addStore(program: Command, io: Io): void {
  program
    .command("migrate")
    .description("bring a PostgreSQL database or an SQLite file to the schema of this release")
    .option("--store <address>", "postgres://…, or an SQLite file; default: PARLEY_STORE, or parley.db")
    .addHelpText("after", migrateHelp)
    .action(async (flags: { readonly store?: string }) =>
      (await import("./store-commands.js")).migrateCommand(io, flags.store),
    );
}
