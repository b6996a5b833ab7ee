import { PassThrough, type Writable } from "node:stream";
import { Command, CommanderError } from "commander";
import { CommandError } from "../../src/cli/command-error.js";
import type { Io } from "../../src/cli/io.js";
import { StoreError } from "../../src/store/task-store.js";
import { outputTo } from "./memory-io.js";

/** Runs operators' commands inside the test's process. */

/** A command's output and exit code. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment of a command. */
export interface Place {
  readonly env?: Readonly<Record<string, string>>;
  /** Text on stdin. */
  readonly input?: string;
  /** The width of the terminal. If set, all streams are terminals. */
  readonly columns?: number;
  readonly rows?: number;
  readonly signal?: AbortSignal;
  /** Keys pressed on the terminal when stdout contains a text. */
  readonly keys?: readonly [after: string, keys: string];
  /** Called with all of stdout after each write. An exception fails the write. */
  readonly onOutput?: (stdout: string) => void;
}

export type Group = (command: Command, io: Io) => void;

/** Runs `parley <name> …`. */
export async function runGroup(add: Group, name: string, args: readonly string[], place: Place = {}): Promise<Ended> {
  let [stdout, stderr] = ["", ""];
  const tty = place.columns === undefined ? {} : { isTTY: true, columns: place.columns, rows: place.rows ?? 24 };
  const output = (add: (text: string) => void): Writable => Object.assign(outputTo(add), tty);
  const stdin = new PassThrough();
  if (place.columns === undefined || place.input !== undefined) stdin.end(place.input ?? "");
  const io: Io = {
    program: "parley",
    version: "1.2.3",
    cwd: process.cwd(),
    home: undefined,
    stdin: Object.assign(stdin, tty.isTTY === true ? { isTTY: true, setRawMode: () => {} } : {}),
    stdout: output((text) => {
      stdout += text;
      place.onOutput?.(stdout);
      if (place.keys !== undefined && stdout.includes(place.keys[0])) stdin.write(place.keys[1]);
    }),
    stderr: output((text) => {
      stderr += text;
    }),
    env: place.env ?? {},
    interrupted: place.signal ?? new AbortController().signal,
  };
  const program = new Command("parley").exitOverride().configureOutput({
    writeOut: (text) => {
      stdout += text;
    },
    writeErr: (text) => {
      stderr += text;
    },
  });
  add(program.command(name), io);
  const group = program.commands[0]!;
  for (const each of [group, ...group.commands]) each.exitOverride().configureOutput(program.configureOutput());
  try {
    await program.parseAsync([name, ...args], { from: "user" });
    return { code: 0, stdout, stderr };
  } catch (error) {
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, stdout, stderr };
    if (error instanceof CommandError) return { code: error.exitCode, stdout, stderr: `${stderr}${error.message}` };
    if (error instanceof StoreError) return { code: 2, stdout, stderr: `${stderr}${error.message}` };
    throw error;
  }
}
