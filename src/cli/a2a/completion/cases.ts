import type { Kind, Node, Tree } from "./tree.js";

// The three scripts have the same functions: they find the command that the words name, and the kind of its next word.

/** A shell's syntax for a choice by a value. */
export interface Syntax {
  /** Returns a choice by the value of a variable: patterns, and lines for each. */
  readonly choice: (
    variable: string,
    branches: readonly (readonly [patterns: readonly string[], lines: string])[],
  ) => string;
}

/** Returns a word in single quotes, for bash and zsh. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const indented = (text: string): string => text.replace(/^(?=.)/gm, "  ");

/** `case` of bash and zsh. */
export const posix: Syntax = {
  choice: (variable, branches) =>
    branches.length === 0
      ? ":"
      : `case $${variable} in\n${branches
          .map(([patterns, lines]) => `  ${patterns.map(quoted).join("|")})\n${indented(indented(lines))}\n    ;;`)
          .join("\n")}\nesac`,
};

/** `switch` of fish. */
export const fish: Syntax = {
  choice: (variable, branches) =>
    `switch $${variable}\n${branches
      .map(([patterns, lines]) => `  case ${patterns.map(fishQuoted).join(" ")}\n${indented(indented(lines))}`)
      .join("\n")}\nend`,
};

/** Returns a word in single quotes, for fish. */
export function fishQuoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}

/** Returns the choice of the commands below a path. @param lines offers them */
export function commandsByPath(
  { nodes }: Tree,
  { choice }: Syntax,
  lines: (below: Node["commands"]) => string,
): string {
  const groups = nodes.filter(({ commands }) => commands.length > 0);
  return choice(
    "place",
    groups.map(({ path, commands }) => [[path], lines(commands)]),
  );
}

/** Returns the options of each path. @param lines offers the names of options with their descriptions */
export function optionsByPath(
  { blocks }: Tree,
  { choice }: Syntax,
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

/** One name of an option, and its description. */
type NamedOption = readonly [name: string, about: string];

/** Returns the functions of bash and zsh that set `kind` and `place`, by the words of the line. */
export function posixFunctions(tree: Tree): string {
  const { program } = tree;
  const kind = (to: Kind): string => `kind=${quoted(to)}`;
  return `# Sets kind to the candidates for the value of an option; empty if it takes none.
__${program}_option() {
  local option=$1
  kind=
${kindsByOption(tree, posix, kind)}
}

__${program}_operand() {
  kind=
${kindsByOperand(tree, posix, kind)}
}

__${program}_descend() {
  local word=$1 before=$place
${descents(tree, posix, (path) => `place=${quoted(path)}`)}
  [[ $place != "$before" ]]
}`;
}

/** Returns the choice of a kind by the path and an option's name. @param set writes the assignment of a kind */
export function kindsByOption({ blocks }: Tree, { choice }: Syntax, set: (kind: Kind) => string): string {
  return blocks
    .map(({ paths, options }): readonly [readonly string[], string] => {
      const byKind = new Map<Kind, string[]>();
      for (const { kind, names } of options) {
        if (kind !== undefined) byKind.set(kind, [...(byKind.get(kind) ?? []), ...names]);
      }
      return [
        paths,
        byKind.size === 0
          ? ""
          : choice(
              "option",
              [...byKind].map(([kind, names]) => [names, set(kind)]),
            ),
      ];
    })
    .filter(([, lines]) => lines !== "")
    .map((branch) => choice("place", [branch]))
    .join("\n");
}

/** Returns the choice of the kind of an operand by the path and its number. */
export function kindsByOperand({ nodes }: Tree, { choice }: Syntax, set: (kind: Kind) => string): string {
  const branches = nodes.flatMap(({ path, operands, isVariadic }) => {
    const known = operands.map((kind, at): readonly [readonly string[], string] => [
      isVariadic && at === operands.length - 1 ? [`${at}`, ...more(at)] : [`${at}`],
      set(kind),
    ]);
    const useful = known.filter((_, at) => operands[at] !== "text");
    return useful.length === 0 ? [] : [[[path], choice("count", useful)] as const];
  });
  return choice("place", branches);
}

/** Numbers of repeated operands, as many as anybody types. */
const more = (at: number): readonly string[] => Array.from({ length: 20 }, (_, extra) => `${at + 1 + extra}`);

/** Returns the choice of the paths that a word leads to. */
export function descents({ nodes }: Tree, { choice }: Syntax, set: (path: string) => string): string {
  const groups = nodes.filter(({ commands }) => commands.length > 0);
  return choice(
    "place",
    groups.map(({ path, commands }) => [
      [path],
      choice(
        "word",
        commands
          .filter(({ name }) => name !== "help")
          .map(({ name }) => [[name], set(path === "" ? name : `${path} ${name}`)]),
      ),
    ]),
  );
}
