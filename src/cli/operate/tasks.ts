import type { Command } from "commander";
import type { Io } from "../io.js";
import { addLimit, addReach, addYes, position, taskState, time } from "./options.js";
import * as change from "./task-changes.js";
import * as read from "./task-reads.js";
import * as transfer from "./task-transfer.js";

/** Adds `parley tasks …`. */
export function add(tasks: Command, io: Io): void {
  addReads(tasks, io);
  addWatching(tasks, io);
  addChanges(tasks, io);
  addTransfers(tasks, io);
}

function addReads(tasks: Command, io: Io): void {
  const list = tasks
    .command("list")
    .description("list tasks of all owners, newest status first")
    .option("--state <state>", "only this state, such as working; may be given again", taskState)
    .option("--tenant <tenant>", "only those of a tenant")
    .option("--owner <owner>", "only those of an owner")
    .option("--context <id>", "only those of a conversation")
    .option("--agent <name>", "only those of an agent")
    .option("--since <time>", "only those whose status is not older: a time, or how long ago, such as 2h", time)
    .option("--before <time>", "only those whose status is older", time)
    .option("--text <text>", "only those that contain a text")
    .option("--unattended", "only those that should run and do not", false);
  addLimit(addReach(list)).action((flags: read.ListFlags) => read.list(flags, io));
  addReach(tasks.command("show").description("show a task with its history and artifacts").argument("<task>")).action(
    (task: string, flags: read.TaskFlags) => read.show(task, flags, io),
  );
  const log = tasks
    .command("log")
    .description("print the entries of a task's log; with --json one in each line")
    .argument("<task>")
    .option("--after <position>", "only entries after this position", position, 0)
    .option("--raw", "print the stored bytes, too", false);
  addReach(log).action((task: string, flags: read.LogFlags) => read.log(task, flags, io));
}

const watchHelp = `
Without a task it prints a line for each task that changes, until Ctrl-C (exit code 0). With one it prints the entries of its log,
those that exist and then each new one, until the task has ended; Ctrl-C before that is exit code 1. Exit code 3: the server was lost.
`;

function addWatching(tasks: Command, io: Io): void {
  const watch = tasks
    .command("watch")
    .description("print what changes, of one task or of all")
    .argument("[task]")
    .option("--after <position>", "of one task: only entries after this position", position, 0)
    .option("--tenant <tenant>", "of all: only those of a tenant")
    .option("--owner <owner>", "of all: only those of an owner")
    .addHelpText("after", watchHelp);
  addReach(watch, { file: false }).action((task: string | undefined, flags: read.WatchFlags) =>
    read.watch(task, flags, io),
  );
}

function addChanges(tasks: Command, io: Io): void {
  const one = (name: string, description: string): Command =>
    tasks.command(name).description(description).argument("<task>");
  addReach(one("cancel", "cancel a task, as its client would"), { writes: true }).action(
    (task: string, flags: read.TaskFlags) => change.cancel(task, flags, io),
  );
  const fail = one("fail", "end a task as failed, and stop its agent, whichever process runs it");
  addReach(fail.option("--message <text>", "text for its client"), { writes: true }).action(
    (task: string, flags: change.FailFlags) => change.fail(task, flags, io),
  );
  const answer = tasks
    .command("answer")
    .description("answer a task that waits for a person, as its owner's next message")
    .argument("<task>")
    .argument("[text]", "the answer")
    .option("--data <json>", "a value as JSON, with the text or instead of it");
  addReach(answer, { file: false }).action((task: string, text: string | undefined, flags: change.AnswerFlags) =>
    change.answer(task, text, flags, io),
  );
  const remove = tasks
    .command("delete")
    .description("delete tasks that have ended, with all that belongs to them")
    .argument("<tasks...>");
  addYes(addReach(remove, { writes: true })).action((ids: string[], flags: change.DeleteFlags) =>
    change.remove(ids, flags, io),
  );
}

function addTransfers(tasks: Command, io: Io): void {
  const save = tasks
    .command("export")
    .description("write a task with its whole log as lines of JSON")
    .argument("<task>")
    .option("--out <file>", "new file, which its owner alone may read (default: stdout)");
  addReach(save, { json: false, isLong: true }).action((task: string, flags: transfer.ExportFlags) =>
    transfer.exportTask(task, flags, io),
  );
  const load = tasks
    .command("import")
    .description("store a task that was exported; an unfinished one is stored as failed")
    .argument("<file>", "the lines; - for stdin")
    .option("--id <id>", "id of the new task, a UUID of version 7 (default: that of the exported one)")
    .option("--tenant <tenant>", "its tenant (default: that of the exported one)")
    .option("--owner <owner>", "its owner (default: that of the exported one)");
  addReach(load, { writes: true }).action((file: string, flags: transfer.ImportFlags) =>
    transfer.importTask(file, flags, io),
  );
}
