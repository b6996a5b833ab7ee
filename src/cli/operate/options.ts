import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Command, InvalidArgumentError, Option } from "commander";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
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

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError("It must be a whole number from 1.");
  return value;
}

export function position(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff || text.trim() === "") {
    throw new InvalidArgumentError("It must be a whole number from 0.");
  }
  return value;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && value <= 86_400) || text.trim() === "") {
    throw new InvalidArgumentError("It must be a number of seconds from 0 to 86400.");
  }
  return value;
}

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

const states = new Map(
  Object.values(TaskState)
    .filter((value) => typeof value === "number" && value !== TaskState.UNSPECIFIED)
    .map((value) => [stateName(value as TaskState), value as TaskState]),
);

/** Reads a state, and adds it to those before. */
export function taskState(text: string, before: readonly TaskState[] = []): TaskState[] {
  const state = states.get(
    text
      .toLowerCase()
      .replace(/^task_state_/, "")
      .replaceAll("_", "-"),
  );
  if (state === undefined) throw new InvalidArgumentError(`It must be one of ${[...states.keys()].join(", ")}.`);
  return [...before, state];
}
