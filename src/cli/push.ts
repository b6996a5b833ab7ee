import { type Command, InvalidArgumentError, Option } from "commander";
import type { PushListFlags, PushRedriveFlags } from "./push-commands.js";

const listHelp = `
Prints one line for each: when it was given up, the task, the configuration, the receiver, the number of undelivered
entries of the task's log, and the reason. Secrets and URL paths are not shown. A server may have the file open.
`;

const redriveHelp = `
Prints the number of configurations. Delivery resumes after the last delivered entry, with the failure count reset. A server
that has the file open finds them within 30 seconds; otherwise the next server does. Exit code 2: the file does not exist, or
has the format of another version of Parley.
`;

/** Adds the commands for push notifications that were given up. Their dependencies are loaded on use. */
export function addPush(program: Command): void {
  const push = program.command("push").description("look at push notifications that were given up, and try them again");
  push
    .command("list")
    .description("list the configurations whose notifications were given up")
    .addOption(storeOption())
    .option("--tenant <tenant>", "only those of a tenant")
    .option("--owner <owner>", "only those of an owner")
    .option("--limit <number>", "at most so many", wholeNumber, 1_000)
    .option("--json", "one JSON object in each line", false)
    .addHelpText("after", listHelp)
    .action(async (flags: PushListFlags) => (await import("./push-commands.js")).listCommand(flags));
  push
    .command("redrive")
    .description("try them again: one configuration, those of a task, or all")
    .addOption(storeOption())
    .option("--task <id>", "only those of this task")
    .option("--config <id>", "only this one of the task")
    .option("--all", "all of them", false)
    .addOption(
      new Option("--audit <file>", "audit log that gets a record of it: a file, stderr or off")
        .env("PARLEY_AUDIT")
        .default("stderr"),
    )
    .addHelpText("after", redriveHelp)
    .action(async (flags: PushRedriveFlags) => (await import("./push-commands.js")).redriveCommand(flags));
}

/** The option of the file: `--store` as in `parley serve`, and the older `--db`. */
function storeOption(): Option {
  return new Option("--db, --store <file>", "the SQLite file with the tasks").env("PARLEY_STORE").default("parley.db");
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError("It must be a whole number from 1.");
  return value;
}
