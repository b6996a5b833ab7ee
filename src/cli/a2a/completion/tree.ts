import type { Argument, Command, Option } from "commander";

/** Candidates for a value, as the scripts know them: a keyword, or `words` and the words. */
export type Kind = "text" | "files" | "folders" | "agents" | "refs" | `words ${string}`;

export interface OptionRow {
  readonly names: readonly string[];
  readonly about: string;
  /** Undefined if it takes no value. */
  readonly kind: Kind | undefined;
  /** True if it is recognized, and never offered. */
  readonly isHidden: boolean;
}

/** Options that the same commands have. */
export interface OptionBlock {
  readonly paths: readonly string[];
  readonly options: readonly OptionRow[];
}

export interface Node {
  /** Its words; empty for the program. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly operands: readonly Kind[];
  /** True if the last operand may be repeated. */
  readonly isVariadic: boolean;
}

/** Everything that can be typed, taken from the commands that also print the help. */
export interface Tree {
  readonly program: string;
  readonly nodes: readonly Node[];
  readonly blocks: readonly OptionBlock[];
}

/** Reads the commands below a program. */
export function treeOf(program: Command): Tree {
  const commands = below(program);
  const nodes = commands.map(({ path, command }) => nodeOf(path, command));
  const byPath = commands.map(({ path, command }): [string, readonly OptionRow[]] => [path, optionsOf(command)]);
  // Global options may also stand before the command.
  const globals = commands.flatMap(({ command }) => command.options.filter(isGlobal)).map((row) => rowOf(row, true));
  const all = byPath.map(([path, rows]): [string, readonly OptionRow[]] => [
    path,
    path === ""
      ? unique([...globals.toSorted((one, other) => Number(other.isHidden) - Number(one.isHidden)), ...rows])
      : rows,
  ]);
  return { program: program.name(), nodes, blocks: blocksOf(all) };
}

const isGlobal = ({ helpGroupHeading }: Option): boolean => helpGroupHeading === "Global options:";

function below(command: Command, path = ""): { readonly path: string; readonly command: Command }[] {
  const inner = command.commands.flatMap((each) => below(each, path === "" ? each.name() : `${path} ${each.name()}`));
  return [{ path, command }, ...inner];
}

function nodeOf(path: string, command: Command): Node {
  const help = command.createHelp();
  return {
    path,
    commands: help
      .visibleCommands(command)
      .map((each) => ({ name: each.name(), about: firstLine(each.description()) }))
      .filter(({ name }) => command.commands.length > 0 || name !== "help"),
    operands: command.registeredArguments.map((argument) => kindOf(argument.name(), argument.argChoices)),
    isVariadic: command.registeredArguments.some((argument: Argument) => argument.variadic),
  };
}

function optionsOf(command: Command): OptionRow[] {
  const visible = command.createHelp().visibleOptions(command);
  const hidden = command.options.filter((option) => !visible.includes(option));
  return unique([...visible.map((option) => rowOf(option, true)), ...hidden.map((option) => rowOf(option, false))]);
}

function rowOf(option: Option, isVisible: boolean): OptionRow {
  const takesValue = option.required || option.optional;
  return {
    names: [option.short, option.long].filter((name) => name !== undefined && name !== null),
    about: firstLine(option.description),
    kind: takesValue ? kindOf(placeholderOf(option), option.argChoices) : undefined,
    isHidden: !isVisible || option.hidden,
  };
}

/** Returns the placeholder of an option's value, such as `file or json`. */
function placeholderOf({ flags }: Option): string {
  return /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1] ?? "";
}

/** Finds the candidates for a value by its placeholder. */
function kindOf(placeholder: string, choices: readonly string[] | undefined): Kind {
  if (choices !== undefined) return `words ${choices.join(" ")}`;
  if (placeholder === "agent") return "agents";
  if (placeholder === "ref") return "refs";
  if (/\b(?:folder|dir|directory)\b/.test(placeholder)) return "folders";
  return /\b(?:files?|path|module|store|target|backup)\b/.test(placeholder) ? "files" : "text";
}

const firstLine = (text: string): string => text.replace(/\s+/g, " ").trim();

function unique(rows: readonly OptionRow[]): OptionRow[] {
  return [...new Map(rows.map((row) => [row.names.join(" "), row])).values()];
}

/** Joins options that the same commands have: most commands share most options. */
function blocksOf(all: readonly (readonly [path: string, rows: readonly OptionRow[]])[]): OptionBlock[] {
  const pathsByRow = new Map<string, string[]>();
  for (const [path, rows] of all) {
    for (const row of rows) {
      const key = JSON.stringify(row);
      pathsByRow.set(key, [...(pathsByRow.get(key) ?? []), path]);
    }
  }
  const blocks = new Map<string, { paths: readonly string[]; options: OptionRow[] }>();
  for (const [key, paths] of pathsByRow) {
    const block = blocks.get(JSON.stringify(paths)) ?? { paths, options: [] };
    block.options.push(JSON.parse(key) as OptionRow);
    blocks.set(JSON.stringify(paths), block);
  }
  return [...blocks.values()];
}
