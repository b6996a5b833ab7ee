import { type Command, InvalidArgumentError, Option } from "commander";
import { defaultLimits, type Limits } from "../core/limits.js";
import { unknownNames } from "../core/unknown-names.js";
import { yesNo } from "../server/option-kinds.js";
import { defaultOptions, limitTable, type OptionRow, optionTable } from "../server/option-table.js";
import type { ServerOptions } from "../server/options.js";
import { type CommandOptions, commandTable, defaultCommandOptions } from "./command-options.js";
import { UsageError } from "./usage-error.js";

/** One option of the command line. */
export interface Flag {
  /** Whose option it is. */
  readonly of: "server" | "limits" | "command";
  /** Its name in code. */
  readonly name: string;
  /** Such as `--grpc-port`. */
  readonly flag: string;
  /** Such as `PARLEY_GRPC_PORT`. */
  readonly variable: string;
  readonly row: OptionRow;
  /** What applies without it, as people read it. */
  readonly otherwise: string;
}

/** What was given on the command line and in the environment, and nothing else. */
export interface Given {
  readonly server: Partial<ServerOptions>;
  readonly limits: Partial<Limits>;
  readonly command: Partial<CommandOptions>;
}

/** Every option that a text can give, of the server, its limits, and the command. */
export const flags: readonly Flag[] = [
  ...flagsOf("server", optionTable, defaultOptions).filter(({ row }) => row.needsPorts === true),
  ...flagsOf("command", commandTable, defaultCommandOptions),
  ...flagsOf("server", optionTable, defaultOptions).filter(({ row }) => row.needsPorts !== true),
  ...flagsOf("limits", limitTable, defaultLimits),
];

function flagsOf(of: Flag["of"], table: object, defaults: object): Flag[] {
  const rows = Object.entries(table) as [string, OptionRow][];
  return rows
    .filter(([, { kind }]) => kind.read !== undefined)
    .map(([name, row]) => {
      const kebab = name.replace(/(Ms|Seconds)$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      const flag = row.flag ?? kebab;
      const value = (defaults as Record<string, unknown>)[name];
      const otherwise = row.otherwise ?? (value === undefined ? "none" : row.kind.show(value));
      const variable = `PARLEY_${flag.toUpperCase().replaceAll("-", "_")}`;
      return { of, name, flag: `--${flag}`, variable, row, otherwise };
    });
}

/** Adds all of them to a command. Limits are not in its help: they have a list of their own. */
export function addFlags(command: Command): Command {
  for (const flag of flags) command.addOption(optionOf(flag));
  return command;
}

function optionOf({ of, flag, variable, row, otherwise }: Flag): Option {
  const { placeholder = "", read, choices } = row.kind;
  const option = new Option(`${flag} ${placeholder}`.trim(), row.help ?? "");
  if (placeholder === "") {
    // To commander any value of a variable switches its option on.
    return isOn(variable) === false ? option : option.env(variable);
  }
  option.env(variable).default(null, otherwise);
  option.argParser((value) => {
    try {
      return read?.(value);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  });
  // For the help alone: what is no choice has been refused before.
  if (choices !== undefined) option.argChoices = [...choices];
  return of === "limits" && row.help === undefined ? option.hideHelp() : option;
}

/** What was given to a command that has all flags. */
export function givenTo(command: Command): Given {
  const given = { server: {}, limits: {}, command: {} };
  for (const { of, name, flag, variable, row } of flags) {
    const key = new Option(flag).attributeName();
    if (["cli", "env"].includes(command.getOptionValueSource(key) ?? "")) {
      Object.assign(given[of], { [name]: command.getOptionValue(key) });
    } else if (row.kind.placeholder === "" && isOn(variable) === false) {
      Object.assign(given[of], { [name]: false });
    }
  }
  return given;
}

/** Variables that look like options and are none, each with a hint where one is near. */
export function unknownVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = flags.map(({ variable }) => variable);
  // Kubernetes gives every container such variables of a service that is called "parley".
  const isOurs = (name: string): boolean => name.startsWith("PARLEY_") && !/^PARLEY_(SERVICE_|PORT_\d)/.test(name);
  return unknownNames("the variable ", Object.keys(environment).filter(isOurs), known);
}

/** The limits with what they are by default, as a table for a terminal. */
export function limitsList(): string {
  const rows = flags
    .filter(({ of }) => of === "limits")
    .map((flag) => [`${flag.flag} ${flag.row.kind.placeholder}`, flag.otherwise, flag.variable]);
  const widths = [0, 1].map((i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ")}\n`).join("");
}

/**
 * Whether a variable switches an option on that has no value, or off; undefined when it does not say.
 *
 * @throws UsageError for a word that says neither.
 */
function isOn(variable: string): boolean | undefined {
  const word = process.env[variable];
  try {
    return word === undefined ? undefined : yesNo.read?.(word);
  } catch {
    throw new UsageError(`${variable} is ${JSON.stringify(word)}, not true or false`);
  }
}
