import type { Command } from "commander";

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
export function addBackup(program: Command): void {
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
