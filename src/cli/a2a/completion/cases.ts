import type { Kind, Node, Tree } from "./tree.js";

// The three scripts have the same functions: they find the command that the words name, and the kind of its next word.

/** A shell's syntax. */
export interface Shell {
  /** Returns a word in single quotes. */
  readonly quoted: (text: string) => string;
  /** Returns a choice by the value of a variable: patterns, and lines for each. */
  readonly choice: (variable: string, branches: readonly Branch[]) => string;
  /** Returns the assignment of a quoted value. */
  readonly set: (variable: string, value: string) => string;
}

type Branch = readonly [patterns: readonly string[], lines: string];

const indented = (text: string): string => text.replace(/^(?=.)/gm, "  ");

/** Bash and zsh. */
export const posix: Shell = {
  quoted: (text) => `'${text.replaceAll("'", "'\\''")}'`,
  choice: (variable, branches) =>
    branches.length === 0
      ? ":"
      : `case $${variable} in\n${branches
          .map(
            ([patterns, lines]) => `  ${patterns.map(posix.quoted).join("|")})\n${indented(indented(lines))}\n    ;;`,
          )
          .join("\n")}\nesac`,
  set: (variable, value) => `${variable}=${value}`,
};

export const fish: Shell = {
  quoted: (text) => `'${text.replaceAll(/[\\']/g, "\\$&")}'`,
  choice: (variable, branches) =>
    `switch $${variable}\n${branches
      .map(([patterns, lines]) => `  case ${patterns.map(fish.quoted).join(" ")}\n${indented(indented(lines))}`)
      .join("\n")}\nend`,
  set: (variable, value) => `set ${variable} ${value}`,
};

/** One name of an option, and its description. */
type NamedOption = readonly [name: string, about: string];

const groupsOf = ({ nodes }: Tree): readonly Node[] => nodes.filter(({ commands }) => commands.length > 0);

/** Returns the choice of the commands below a path. @param lines offers them */
export function commandsByPath(tree: Tree, { choice }: Shell, lines: (below: Node["commands"]) => string): string {
  const branches = groupsOf(tree).map(({ path, commands }): Branch => [[path], lines(commands)]);
  return choice("place", branches);
}

/** Returns the options of each path. @param lines offers the names of options with their descriptions */
export function optionsByPath(
  { blocks }: Tree,
  { choice }: Shell,
  lines: (rows: readonly NamedOption[]) => string,
): string {
  return blocks
    .map(({ paths, options }) => {
      const shown = options.filter(({ isHidden }) => !isHidden);
      return { paths, rows: shown.flatMap(({ names, about }) => names.map((name): NamedOption => [name, about])) };
    })
    .filter(({ rows }) => rows.length > 0)
    .map(({ paths, rows }) => choice("place", [[paths, lines(rows)]]))
    .join("\n");
}

/** Returns the functions of bash and zsh that set `kind` and `place`, by the words of the line. */
export function posixFunctions(tree: Tree): string {
  const { program } = tree;
  return `# Sets kind to the candidates for the value of an option; empty if it takes none.
__${program}_option() {
  local option=$1
  kind=
${kindsByOption(tree, posix)}
}

__${program}_operand() {
  kind=
${kindsByOperand(tree, posix)}
}

__${program}_descend() {
  local word=$1 before=$place
${descents(tree, posix)}
  [[ $place != "$before" ]]
}`;
}

/** Returns the choice of a kind by the path and an option's name. */
export function kindsByOption({ blocks }: Tree, { choice, quoted, set }: Shell): string {
  return blocks
    .flatMap(({ paths, options }) => {
      const byKind = new Map<Kind, string[]>();
      for (const { kind, names } of options) {
        if (kind !== undefined) byKind.set(kind, [...(byKind.get(kind) ?? []), ...names]);
      }
      const branches = [...byKind].map(([kind, names]): Branch => [names, set("kind", quoted(kind))]);
      return branches.length === 0 ? [] : [choice("place", [[paths, choice("option", branches)]])];
    })
    .join("\n");
}

/** Returns the choice of the kind of an operand by the path and its number. */
export function kindsByOperand({ nodes }: Tree, { choice, quoted, set }: Shell): string {
  const branches = nodes.flatMap(({ path, operands, isVariadic }): readonly Branch[] => {
    const known = operands.map((kind, at): Branch => {
      // As many as anybody types.
      const count = isVariadic && at === operands.length - 1 ? 21 : 1;
      return [Array.from({ length: count }, (_, more) => `${at + more}`), set("kind", quoted(kind))];
    });
    const useful = known.filter((_, at) => operands[at] !== "text");
    return useful.length === 0 ? [] : [[[path], choice("count", useful)]];
  });
  return choice("place", branches);
}

/** Returns the choice of the paths that a word leads to. */
export function descents(tree: Tree, { choice, quoted, set }: Shell): string {
  const branches = groupsOf(tree).map(({ path, commands }): Branch => {
    const words = commands.filter(({ name }) => name !== "help");
    const inner = words.map(({ name }): Branch => [[name], set("place", quoted(`${path} ${name}`.trim()))]);
    return [[path], choice("word", inner)];
  });
  return choice("place", branches);
}
