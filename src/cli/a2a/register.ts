import { type Command, type CommanderError, Option } from "commander";
import { attempt } from "../../core/members.js";
import type { Io } from "../io.js";
import type { CommandRow } from "./commands/row.js";
import { commandRows, groups } from "./commands.js";
import { type Failure, usage } from "./errors.js";
import type { OutputMode } from "./output.js";
import { type Setting, settingRows, shownValue, variableOf } from "./settings.js";
import { type GivenFlag, type Resolved, resolveSettings } from "./sources.js";

/** Called with the exit status of the command that ran. */
type Ended = (exit: number) => void;

/**
 * Adds the commands that call agents.
 *
 * @param early form of the output until the settings are read
 * @param isNeeded tells whether a command needs its options: adding those of all takes longer than many a start
 */
export function addAgentCommands(
  program: Command,
  io: Io,
  early: OutputMode,
  { ended, isNeeded }: { readonly ended: Ended; readonly isNeeded: (words: string) => boolean },
): void {
  for (const row of commandRows) {
    const words = row.words.split(" ");
    const verb = words.pop() ?? "";
    const parent = words.reduce((at, _, index) => groupOf(at, words.slice(0, index + 1).join(" ")), program);
    const command = parent.command(verb).description(row.about);
    if (!isNeeded(row.words)) continue;
    const given = addOptions(command, row, io);
    command.action(async () => {
      const { execute } = await import("./execute.js");
      ended(await execute(row, io, early, { given, operands: command.args, program }));
    });
  }
}

/** Returns the command of a group below another command, which is created on first use. @param words of the group */
export function groupOf(parent: Command, words: string): Command {
  const name = words.split(" ").at(-1) ?? "";
  const known = parent.commands.find((each) => each.name() === name);
  return known ?? parent.command(name).description(groups[words] ?? "");
}

/** Adds the operands, options and help of a command. @returns the options that are given, once they are parsed */
function addOptions(command: Command, row: CommandRow, io: Io): readonly GivenFlag[] {
  const given: GivenFlag[] = [];
  if (row.operands !== undefined) command.arguments(row.operands);
  if (row.values !== undefined) command.registeredArguments[0]?.choices(row.values);
  const add = (option: Option): void => {
    command.addOption(option);
    const name = option.long?.slice(2) ?? "";
    command.on(`option:${option.name()}`, (value: string | null | undefined) => {
      given.push({ name, value: value ?? true });
    });
  };
  command.optionsGroup("Options:");
  for (const { flags, help, isHidden, values } of row.options ?? []) {
    add(offering(new Option(flags, help).hideHelp(isHidden === true), values));
  }
  const rows = new Map<string, readonly [string, Setting<unknown>]>();
  for (const [name, setting] of settingRows) {
    for (const [at, flag] of [setting.flag, ...(setting.aliases ?? [])].entries()) {
      const short = at === 0 && setting.short !== undefined ? `${setting.short}, ` : "";
      const option = offering(
        new Option(`${short}${flag} ${setting.placeholder ?? ""}`.trim(), setting.help),
        setting.values,
      );
      if (row.streams !== true && name === "stream") option.hideHelp();
      add(option.hideHelp(at > 0).helpGroup("Global options:"));
      if (at === 0) rows.set(flag, [name, setting]);
    }
  }
  command.version(io.version, "-V, --version", "show the version");
  const { examples = [], after = "" } = row;
  const lines = examples.map((each) => `  ${io.program} ${each}\n`);
  command.addHelpText("after", after + (lines.length === 0 ? "" : `\nExamples:\n${lines.join("")}`));
  let resolved: Resolved | undefined;
  command.configureHelp({
    optionDescription: (option) => {
      const found = rows.get(option.long ?? "");
      if (found === undefined) return option.description;
      // A wrong setting must not keep the help from showing.
      resolved ??= attempt(() => resolveSettings(io, given));
      return described(found, resolved);
    },
  });
  return given;
}

/** Adds the values that completion offers. They are not the only ones that are accepted. */
function offering(option: Option, values: readonly string[] | undefined): Option {
  if (values !== undefined) option.argChoices = [...values];
  return option;
}

function described([name, setting]: readonly [string, Setting<unknown>], resolved: Resolved | undefined): string {
  const variable = variableOf(setting);
  const { otherwise } = setting;
  const shown = setting.shown ?? (setting.placeholder === undefined ? "off" : shownValue(setting, otherwise));
  const facts = [`default: ${shown === "" ? "none" : shown}`, ...(variable === undefined ? [] : [`env: ${variable}`])];
  const source = resolved?.sources[name as keyof Resolved["sources"]];
  if (source !== undefined && source.kind !== "default") {
    const value =
      setting.isSecret === true ? "set" : shownValue(setting, resolved?.values[name as keyof Resolved["values"]]);
    facts.push(`now: ${value} (${source.kind}${source.path === undefined ? "" : ` ${source.path}`})`);
  }
  return `${setting.help} (${facts.join(", ")})`;
}

/** Converts an error of commander to a usage error; undefined if it is not a failure, such as after the help. */
export function usageFailure(error: CommanderError, program: Command, first: string | undefined): Failure | undefined {
  if (error.exitCode === 0) return undefined;
  const hint = `${program.name()} --help lists the commands and options`;
  if (error.code === "commander.help") return usage("a command is missing", hint);
  return usage(mistake(error.message, first).replace(/^error: /, ""), hint);
}

/**
 * Joins commander's message and a suggestion into one line. `cancel` and `tasks get` suggest `task cancel` and `task get`.
 *
 * @param first word of the command line
 */
export function mistake(message: string, first: string | undefined): string {
  const [unknown, word = ""] = /unknown command '(.+?)'/.exec(message) ?? [];
  const ofTask = `task ${word}`;
  const isOfTask = (first === word || first === "tasks") && commandRows.some(({ words }) => words === ofTask);
  const meant = isOfTask ? ofTask : /\.[cm]?[jt]s$/.test(word) ? `serve ${word}` : undefined;
  if (meant === undefined) return message.replace(/\n\((.*)\)/, " ($1)");
  return `error: ${unknown} (Did you mean ${meant}?)`;
}
