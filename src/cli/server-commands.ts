import type { Command } from "commander";
import { groupOf } from "./a2a/register.js";
import { addAuthors } from "./authors/commands.js";
import type { SignFlags, VerifyFlags } from "./card-commands.js";
import type { ConsoleFlags } from "./console-command.js";
import type { Io } from "./io.js";
import { addOperate } from "./operate/groups.js";

/** Adds the commands that serve agents and manage their files. They print their errors themselves, as one line. */
export async function addServerCommands(program: Command, words: readonly string[], io: Io): Promise<void> {
  // The help of a command needs its own options, completion all.
  const isWhole = words[0] === "completion";
  await addServe(program, isWhole || words[0] === "serve");
  await addAuthors(program, isWhole || words[0] === "dev", words.slice(1), io);
  addCard(groupOf(program, "card"));
  addBackup(program);
  addStore(program, io);
  await addConsole(program, isWhole || words[0] === "console", io);
  await addOperate(program, (name) => isWhole || words.slice(0, 2).includes(name), io);
}

const backupHelp = `
A server may have the file open and continue to write. The copy has everything that it acknowledged before the command began. The
command checks the copy, adds a digest, and lets only its owner read it. The copy contains everything that clients and agents said.
Exit code 2: the file is missing or damaged, or the target exists; 75: the disk is full or fails.
`;

const restoreHelp = `
The command checks the whole backup first. The new file must not exist, and no server may have it open: stop all servers, and move
the old file away together with its -wal file. Exit code 2: the backup is missing or damaged, or the file exists; 75: the disk is
full or fails.
`;

/** Adds the commands that copy a store and start one from a copy. Their dependencies are loaded on use. */
function addBackup(program: Command): void {
  program
    .command("backup")
    .description("copy the SQLite file of a server, which may be running, into a new file")
    .argument("<store>", "the SQLite file with the tasks")
    .argument("<target>", "the new file")
    .addHelpText("after", backupHelp)
    .action(async (store: string, target: string) => {
      const { backUpFile } = await import("../store/sqlite/backup.js");
      const { path, bytes, time } = await backUpFile(store, target);
      process.stdout.write(`${path}: ${bytes} bytes, as of ${new Date(time).toISOString()}\n`);
    });
  program
    .command("restore")
    .description("create the SQLite file of a server from a backup")
    .argument("<backup>", "the backup")
    .argument("<store>", "the new SQLite file with the tasks")
    .addHelpText("after", restoreHelp)
    .action(async (backup: string, store: string) => {
      const { restoreFile } = await import("../store/sqlite/restore.js");
      const { path, tasks, time } = await restoreFile(backup, store);
      const moment = time === undefined ? "without a digest" : `as of ${new Date(time).toISOString()}`;
      process.stdout.write(`${path}: ${tasks} tasks, ${moment}\n`);
    });
}

const signHelp = `
The signed card goes to stdout. Signatures that the card has are replaced, unless --add keeps them. Keys are P-256 (ES256), RSA of
2,048 bits or more (RS256) or Ed25519 (EdDSA), as PKCS #8 in PEM or as private JWK:
  openssl genpkey -algorithm ed25519 -out card-key.pem && chmod 600 card-key.pem
`;

const verifyHelp = `
Only the keys that --key, --jwks and --jku name are trusted. Exit code 0: at least one signature is valid; 1: no signature is valid;
2: the card cannot be read. A URL without a path means the card at /.well-known/agent-card.json. A card or JWKS must not exceed
1 MiB, nor take longer than 10 seconds; redirects are not followed.
`;

const several = (value: string, before: readonly string[]): string[] => [...before, value];

/** Adds the commands that sign and verify cards to their group. Their dependencies are loaded on use. */
function addCard(card: Command): void {
  card
    .command("sign")
    .description("sign the card in a file")
    .argument("<file>", "JSON of the card; - for stdin")
    .requiredOption("--key <file>", "private key; several add a signature each, as a rotation needs it", several, [])
    .option(
      "--kid <id>",
      "id of the key; of several keys in their order (default: its own, or its thumbprint)",
      several,
      [],
    )
    .option("--jku <url>", "URL of the JWKS with the public key")
    .option("--add", "keep the signatures that the card has", false)
    .option("--also-without-empty", "sign it without its empty values too, for readers that leave these out", false)
    .addHelpText("after", signHelp)
    .action(async (file: string, flags: SignFlags) => (await import("./card-commands.js")).signCommand(file, flags));
  card
    .command("verify")
    .description("verify the signatures of a card")
    .argument("<file or url>", "JSON of the card; - for stdin")
    .option("--key <file>", "public key that is trusted, as PEM or JWK; may be given again", several, [])
    .option("--jwks <file or url>", "JWKS that is trusted; may be given again", several, [])
    .option(
      "--jku <url>",
      "JWKS that is trusted, and fetched when a signature names it; may be given again",
      several,
      [],
    )
    .option("--accept-without-empty", "accept signatures over the card without its empty values", false)
    .addHelpText("after", verifyHelp)
    .action(async (from: string, flags: VerifyFlags) =>
      (await import("./card-commands.js")).verifyCommand(from, flags),
    );
}

const consoleHelp = `
The agent is a URL, a host or a name of the address book, whose other agents are listed too. The console listens on this machine
only, on a free port. It prints a link that opens it once, and opens the browser if it runs on a terminal. Ctrl-C ends it.

--recording opens a file of "parley record", or one that the console saved, and replays it with the agent or another one.

"parley serve --console" has a console of its own, with the tasks of that server.
`;

/** Adds the command `console`. Its code and its options are loaded on use. */
async function addConsole(program: Command, isNeeded: boolean, io: Io): Promise<void> {
  const command = program.command("console").description("talk to agents and look into tasks in a browser");
  if (!isNeeded) return;
  const { addAdmin } = await import("./operate/options.js");
  command
    .argument("[agent]", "agent to open")
    .option("--task <id>", "open this task of the agent")
    .option("--recording <file>", "open a recording of parley record, to replay it")
    .option("--port <number>", "port to listen on; 0 for any free port", "0")
    .option("--no-open", "print the link without opening the browser");
  addAdmin(command)
    .addHelpText("after", consoleHelp)
    .action(async (agent: string | undefined, flags: ConsoleFlags) =>
      (await import("./console-command.js")).runConsole(io, agent, flags),
    );
}

const serveHelp = `
Write durations as 500ms, 10s, 15m, 2h or 7d, and sizes as 64KiB, 8MiB or 1GiB. The command line overrides the environment,
which overrides the exports of the module. Every limit is an option too, such as --max-request-bytes 16MiB; "parley limits"
lists them.
`;

/**
 * Adds the command `serve`, and `limits`, which lists the options that its help leaves out. The server and its options
 * are loaded on use: other commands start in half the time without them.
 *
 * @param isNeeded whether the options of `serve` are used
 */
async function addServe(program: Command, isNeeded: boolean): Promise<void> {
  const serveCommand = program
    .command("serve")
    .description("serve the agents of a module over every binding")
    .argument(
      "<module>",
      'JavaScript or TypeScript that exports an agent as "default" or "agent", or several by tenant as "agents"; options ' +
        'of createServer, such as authenticator and limits, by their names or together as "options"',
    )
    .addHelpText("after", serveHelp);
  program
    .command("limits")
    .description("list the limits that serve accepts, with their defaults and environment variables")
    .action(async () => void process.stdout.write((await import("./flags.js")).limitsList()));
  if (!isNeeded) return;
  const { addFlags, givenTo } = await import("./flags.js");
  addFlags(serveCommand).action(async (module: string) => {
    const given = givenTo(serveCommand);
    await (await import("./serve-command.js")).serve(module, given);
  });
}

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
function addStore(program: Command, io: Io): void {
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
