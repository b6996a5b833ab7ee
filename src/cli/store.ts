import type { Command } from "commander";
import type { Io } from "./io.js";

const migrateHelp = `
It creates the tables of an empty database or of a missing file that --store names, and brings older ones to the schema of this release. Servers of the
previous release may use a PostgreSQL database meanwhile. Interrupted, it continues where it was when it is run again; several at
once wait for each other. A server that is started with "--migrate check" leaves this to you.
Exit code 2: a wrong address, another application's file, or a later release's schema; 75: the database cannot be reached or a
transaction locks its tables, or the disk is full.
`;

const copyHelp = `
Each is an SQLite file or postgres://…; the target is created, or has no tasks. Both are verified at the end, task by task. End all
servers of both first: a file in use is refused, and a database whose servers send heartbeats, which it watches for 16 seconds. The
source is not changed. An unfinished copy cannot be served; run the command again, and it starts over.
Afterwards start servers with the target alone: they run unfinished tasks on, and continue notifications where they were.
Exit code 2: a wrong address, a store in use, a target with tasks, an older schema (see "parley migrate"); 75: the disk is full or
fails, or the database cannot be reached.
`;

/** Adds the commands that prepare a store and move it. Their dependencies are loaded on use. */
export function addStore(program: Command, io: Io): void {
  program
    .command("migrate")
    .description("migrate a PostgreSQL database or an SQLite file to the schema of this release")
    .option("--store <address>", "postgres://…, or an SQLite file; default: PARLEY_STORE, or parley.db if it exists")
    .addHelpText("after", migrateHelp)
    .action(async (flags: { readonly store?: string }) =>
      (await import("./store-commands.js")).migrateCommand(io, flags.store),
    );
  program
    .command("store")
    .description("move the tasks of a store to another one")
    .command("copy")
    .description("copy all tasks from SQLite to PostgreSQL or back, with what belongs to them")
    .argument("<from>", "the store with the tasks: an SQLite file, or postgres://…")
    .argument("<to>", "the new store: an SQLite file, or postgres://…")
    .addHelpText("after", copyHelp)
    .action(async (from: string, to: string) => (await import("./store-commands.js")).copyCommand(io, from, to));
}
