import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { create, fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Command } from "commander";
import { type Part, PartSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TaskSummary } from "../../../gen/parley/admin/v1/admin_pb.js";
import { membersOf, messageIn } from "../../core/members.js";
import { given } from "../../core/options.js";
import { parsedJson } from "../../wire/parsed-json.js";
import { CommandError, UsageError, usageErrorOf } from "../command-error.js";
import type { Io } from "../io.js";
import { stateName } from "./format.js";
import { confirm, print } from "./io.js";
import { addLimit, addReach, addYes, position, taskState, time } from "./options.js";
import { methods, printAnswer } from "./responses.js";
import { type ReachFlags, withService } from "./service.js";
import * as read from "./task-reads.js";

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
    (task: string, flags: ReachFlags) => read.show(task, flags, io),
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
    .description("print the changes of one task or of all tasks")
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
    (taskId: string, flags: ReachFlags) => printAnswer(io, flags, methods.cancelTask, { taskId }, lineOf),
  );
  const fail = one("fail", "end a task as failed, and stop its agent, whichever process runs it");
  addReach(fail.option("--message <text>", "text for its client"), { writes: true }).action(
    (taskId: string, flags: ReachFlags & { readonly message?: string }) =>
      printAnswer(io, flags, methods.failTask, { taskId, message: flags.message ?? "" }, lineOf),
  );
  const answer = tasks
    .command("answer")
    .description("answer a task that waits for a person, as its owner's next message")
    .argument("<task>")
    .argument("[text]", "the answer")
    .option("--data <json>", "a value as JSON, with the text or instead of it");
  addReach(answer, { file: false }).action(
    (taskId: string, text: string | undefined, flags: ReachFlags & { readonly data?: string }) =>
      printAnswer(io, flags, methods.answerTask, { taskId, parts: partsOf(text, flags.data) }, lineOf),
  );
  const remove = tasks
    .command("delete")
    .description("delete tasks that have ended, with all that belongs to them")
    .argument("<tasks...>");
  addYes(addReach(remove, { writes: true })).action((ids: string[], flags: DeleteFlags) => deleteTasks(ids, flags, io));
}

const lineOf = ({ task }: { readonly task?: TaskSummary | undefined }): string[] =>
  task === undefined ? [] : [`${task.taskId}  ${stateName(task.state)}`];

/** @throws CommandError without an answer, and for data that is not JSON */
function partsOf(text = "", json: string | undefined): Part[] {
  const parts = text === "" ? [] : [create(PartSchema, { content: { case: "text", value: text } })];
  const value = json === undefined ? undefined : parsedJson(json);
  if (json !== undefined && value === undefined) {
    throw new UsageError("--data is not JSON: quote it for the shell, such as '{\"ok\":true}'");
  }
  if (value !== undefined) {
    parts.push(create(PartSchema, { content: { case: "data", value: fromJson(ValueSchema, value) } }));
  }
  if (parts.length === 0) throw new UsageError("give the answer: a text, or --data and JSON");
  return parts;
}

interface DeleteFlags extends ReachFlags {
  readonly yes: boolean;
}

/** Prints the id of each deleted task. */
async function deleteTasks(taskIds: readonly string[], flags: DeleteFlags, io: Io): Promise<void> {
  const what = taskIds.length === 1 ? `task ${taskIds[0]}` : `${taskIds.length} tasks`;
  await confirm(io, `delete ${what}`, flags);
  await withService(flags, io, async (client) => {
    for (const taskId of taskIds) {
      await client.deleteTask({ taskId });
      await print(io, flags.json ? `${JSON.stringify({ deleted: taskId })}\n` : `${taskId}  deleted\n`);
    }
  });
}

function addTransfers(tasks: Command, io: Io): void {
  const save = tasks
    .command("export")
    .description("write a task with its whole log as lines of JSON")
    .argument("<task>")
    .option("--out <file>", "new file, which its owner alone may read (default: stdout)");
  addReach(save, { json: false, isLong: true }).action(
    (taskId: string, flags: ReachFlags & { readonly out?: string }) => exportTask(taskId, flags, io),
  );
  const load = tasks
    .command("import")
    .description("store a task that was exported; an unfinished one is stored as failed")
    .argument("<file>", "the lines; - for stdin")
    .option("--id <id>", "id of the new task, a UUID of version 7 (default: that of the exported one)")
    .option("--tenant <tenant>", "its tenant (default: that of the exported one)")
    .option("--owner <owner>", "its owner (default: that of the exported one)");
  addReach(load, { writes: true }).action(async (file: string, flags: ImportFlags) => {
    const { id: taskId = "", tenant, owner } = flags;
    const request = { lines: await linesOf(file, io), taskId, ...given({ tenant, owner }) };
    await printAnswer(io, flags, methods.importTask, request, lineOf);
  });
}

interface ImportFlags extends ReachFlags {
  readonly id?: string;
  readonly tenant?: string;
  readonly owner?: string;
}

/** Prints a task as lines of JSON, or writes them to a new file. */
function exportTask(taskId: string, flags: ReachFlags & { readonly out?: string }, io: Io): Promise<void> {
  return withService(flags, io, async (client) => {
    if (flags.out === undefined) {
      for await (const { lines } of client.exportTask({ taskId })) await print(io, lines);
    } else {
      await save((signal) => client.exportTask({ taskId }, { signal }), flags.out, io.interrupted);
      await print(io, `${flags.out}\n`);
    }
  });
}

/** Writes a new file. A failed or interrupted export leaves no file. */
async function save(
  pieces: (signal: AbortSignal) => AsyncIterable<{ readonly lines: string }>,
  path: string,
  interrupted: AbortSignal,
): Promise<void> {
  const file = newFile(path);
  try {
    for await (const { lines } of pieces(interrupted)) {
      const bytes = Buffer.from(lines);
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    }
  } catch (error) {
    rmSync(path, { force: true });
    if (interrupted.aborted) throw new CommandError("interrupted", "nothing was exported");
    const isOfFile = membersOf(error).syscall === "write";
    throw isOfFile ? new CommandError("failed", `--out: cannot write ${path}: ${messageIn(error)}`) : error;
  } finally {
    closeSync(file);
  }
}

function newFile(path: string): number {
  try {
    return openSync(path, "wx", 0o600);
  } catch (cause) {
    const exists = membersOf(cause).code === "EEXIST";
    const fault = exists ? `${path} exists, and is not replaced` : `cannot write ${path}: ${messageIn(cause)}`;
    throw new UsageError(`--out: ${fault}`, { cause });
  }
}

/** Reads an exported task from a file or stdin. @throws CommandError */
function linesOf(file: string, { stdin }: Io): Promise<string> {
  const lines = file === "-" ? text(stdin) : readFile(file, "utf8");
  return lines.catch(usageErrorOf(`cannot read ${file}: `));
}
