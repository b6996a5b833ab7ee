import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { membersOf, messageIn } from "../../core/members.js";
import { CommandError, UsageError, usageErrorOf } from "../command-error.js";
import type { Io } from "../io.js";
import { print } from "./io.js";
import { type ReachFlags, withService } from "./service.js";

/** Prints a task as lines of JSON, or writes them to a new file. */
export function exportTask(taskId: string, flags: ReachFlags & { readonly out?: string }, io: Io): Promise<void> {
  return withService(flags, io, async (client) => {
    const pieces = () => client.exportTask({ taskId });
    if (flags.out === undefined) {
      for await (const { lines } of pieces()) await print(io, lines);
    } else {
      await save(pieces, flags.out);
      await print(io, `${flags.out}\n`);
    }
  });
}

/** Writes a new file. A failed export leaves no file. */
async function save(pieces: () => AsyncIterable<{ readonly lines: string }>, path: string): Promise<void> {
  const file = create(path);
  try {
    for await (const { lines } of pieces()) {
      const bytes = Buffer.from(lines);
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    }
  } catch (error) {
    rmSync(path, { force: true });
    const isOfFile = membersOf(error).syscall === "write";
    throw isOfFile ? new CommandError("failed", `--out: cannot write ${path}: ${messageIn(error)}`) : error;
  } finally {
    closeSync(file);
  }
}

function create(path: string): number {
  try {
    return openSync(path, "wx", 0o600);
  } catch (cause) {
    const exists = membersOf(cause).code === "EEXIST";
    const fault = exists ? `${path} exists, and is not replaced` : `cannot write ${path}: ${messageIn(cause)}`;
    throw new UsageError(`--out: ${fault}`, { cause });
  }
}

/** Reads an exported task from a file or stdin. @throws CommandError */
export function linesOf(file: string, { stdin }: Io): Promise<string> {
  const lines = file === "-" ? text(stdin) : readFile(file, "utf8");
  return lines.catch(usageErrorOf(`cannot read ${file}: `));
}
