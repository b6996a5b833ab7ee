import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type TaskState, TaskStateSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { stateNamed } from "../../task/state-name.js";
import { stateName } from "./format.js";

interface Reach {
  /** True if it can read a file instead of a server. Default true. */
  readonly file?: boolean;
  /** True if it changes tasks. */
  readonly writes?: boolean;
  /** True if it can print JSON. Default true. */
  readonly json?: boolean;
  /** True if its time depends on the work: it has no default `--timeout`. */
  readonly isLong?: boolean;
}

/** Adds the options that name the operator's service of a server. */
export function addAdmin(command: Command): Command {
  return command
    .option("--admin <address>", "operator's service: a URL, host:port, or unix: and a path (env: PARLEY_ADMIN)")
    .option("--admin-token-file <file>", "file with the operator's token (default: the variable PARLEY_ADMIN_TOKEN)");
}

/** Adds the options that name the server, and for commands that a file can answer, the file. */
export function addReach(command: Command, reach: Reach = {}): Command {
  const { file = true, writes = false, json = true, isLong = false } = reach;
  addAdmin(command);
  if (file) command.option("--store <file>", "SQLite file that no server has open, instead of a server");
  command.addOption(
    new Option("--timeout <seconds>", "longest wait for an answer; 0 for any")
      .default(isLong ? 0 : 60)
      .argParser(seconds),
  );
  if (json) command.option("--json", "JSON for programs", false);
  if (file && writes) {
    command.addOption(
      new Option("--audit <file>", "audit log of changes of a --store: a file, stderr or off").default("stderr"),
    );
  }
  return command;
}

export function addLimit(command: Command): Command {
  return command.option("--limit <number>", "longest list", wholeNumber, 100);
}

/** Adds `--yes` to a command that loses something. */
export function addYes(command: Command): Command {
  return command.option("--yes", "do not ask", false);
}

/** Adds a value to those that were given before. */
export function several(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Returns a reader of numbers within bounds. @param what describes them in the error */
function numberIn(min: number, max: number, isWhole: boolean, what: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    const isIn = value >= min && value <= max && (!isWhole || Number.isInteger(value));
    if (!isIn || text.trim() === "") throw new InvalidArgumentError(`It must be a ${what}.`);
    return value;
  };
}

const MAX = Number.MAX_SAFE_INTEGER;

export const wholeNumber: (text: string) => number = numberIn(1, MAX, true, "whole number from 1");

export const position: (text: string) => number = numberIn(0, 0xffff_ffff, true, "whole number from 0");

const seconds = numberIn(0, 86_400, false, "number of seconds from 0 to 86400");

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time as ISO 8601, or how long ago, such as `2h`. */
export function time(text: string): Timestamp {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const ms = count === undefined ? Date.parse(text) : Date.now() - Number(count) * (unitMs[unit] ?? 0);
  if (Number.isNaN(ms)) {
    throw new InvalidArgumentError("It must be a time such as 2026-01-31T12:00:00Z, or how long ago, such as 2h.");
  }
  return timestampFromMs(ms);
}

/** Reads a state, and adds it to those before. */
export function taskState(text: string, before: readonly TaskState[] = []): TaskState[] {
  const state = stateNamed(text);
  if (state !== undefined) return [...before, state];
  const names = TaskStateSchema.values.map(({ number }) => stateName(number)).slice(1);
  throw new InvalidArgumentError(`It must be one of ${names.join(", ")}.`);
}
