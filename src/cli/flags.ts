import { type Command, InvalidArgumentError, Option } from "commander";
import { defaultLimits, type Limits } from "../core/limits.js";
import { membersOf, messageIn } from "../core/members.js";
import { unknownNames } from "../core/options.js";
import { yesNo } from "../server/option-kinds.js";
import { defaultOptions, limitTable, type OptionRow, optionTable } from "../server/option-table.js";
import type { UncheckedOptions } from "../server/options.js";
import { UsageError } from "./command-error.js";
import { type CommandOptions, commandTable, defaultCommandOptions } from "./command-options.js";
import { flagOf } from "./flag-of.js";

export interface Flag {
  readonly of: "server" | "limits" | "command";
  readonly name: string;
  /** Its flag, such as `--grpc-port`. */
  readonly flag: string;
  /** Its environment variable, such as `PARLEY_GRPC_PORT`. */
  readonly variable: string;
  readonly row: OptionRow;
  /** The default, as a person reads it. */
  readonly otherwise: string;
}

/** The options that were set on the command line and in the environment. */
export interface Given {
  readonly server: Partial<UncheckedOptions>;
  readonly limits: Partial<Limits>;
  readonly command: Partial<CommandOptions>;
}

/** Every option of the server, its limits and the command that can be given as text. */
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
      const flag = row.flag === undefined ? flagOf(name.replace(/(Ms|Seconds)$/, "")) : `--${row.flag}`;
      const value = membersOf(defaults)[name];
      const otherwise = row.otherwise ?? (value === undefined ? "none" : row.kind.show(value));
      const variable = `PARLEY_${flag.slice(2).toUpperCase().replaceAll("-", "_")}`;
      return { of, name, flag, variable, row, otherwise };
    });
}

/** Adds all flags to a command. Its help does not show limits, which have a list of their own. */
export function addFlags(command: Command): Command {
  for (const flag of flags) command.addOption(optionOf(flag));
  return command;
}

function optionOf({ of, flag, variable, row, otherwise }: Flag): Option {
  const { placeholder = "", read, choices } = row.kind;
  const option = new Option(`${flag} ${placeholder}`.trim(), row.help ?? "");
  if (placeholder === "") {
    // In commander any value of the variable would switch the option on.
    return isOn(variable) === false ? option : option.env(variable);
  }
  option.env(variable).default(null, otherwise);
  option.argParser((value) => {
    try {
      return read?.(value);
    } catch (error) {
      throw new InvalidArgumentError(messageIn(error));
    }
  });
  // Only for the help: other values have been refused before.
  if (choices !== undefined) option.argChoices = [...choices];
  return of === "limits" && row.help === undefined ? option.hideHelp() : option;
}

/** The options that were set for a command. */
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

/** Unknown environment variables with our prefix, each with a hint if an option has a similar name. */
export function unknownVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = flags.map(({ variable }) => variable);
  // Kubernetes sets such variables in every container if a service is called "parley".
  // Commands for operators read the token.
  const isOurs = (name: string): boolean =>
    name.startsWith("PARLEY_") && !/^PARLEY_(SERVICE_|PORT_\d|ADMIN_TOKEN$)/.test(name);
  return unknownNames("the variable ", Object.keys(environment).filter(isOurs), known);
}

/** The limits with their defaults, as a table for a terminal. */
export function limitsList(): string {
  const rows = flags
    .filter(({ of }) => of === "limits")
    .map((flag) => [`${flag.flag} ${flag.row.kind.placeholder}`, flag.otherwise, flag.variable]);
  const widths = [0, 1].map((i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ")}\n`).join("");
}

/**
 * Tells if a variable switches an option on or off; undefined if it is not set.
 *
 * @throws UsageError for any other value.
 */
function isOn(variable: string): boolean | undefined {
  const word = process.env[variable];
  try {
    return word === undefined ? undefined : yesNo.read?.(word);
  } catch {
    throw new UsageError(`${variable} is ${JSON.stringify(word)}, not true or false`);
  }
}
