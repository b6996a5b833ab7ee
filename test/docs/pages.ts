import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** A fenced block of a page. */
export interface Block {
  /** Path of its page in the repository. */
  readonly page: string;
  readonly line: number;
  /** Language after the fence: `ts`, `console`, or empty. */
  readonly language: string;
  readonly text: string;
  /** Commands of a `console` block, with their output. In a block without `$` each line is a command. */
  readonly commands: readonly Command[];
}

export interface Command {
  /** The folder before the `$`, or empty. */
  readonly folder: string;
  readonly command: string;
  /** Output shown on the page, or empty. */
  readonly prints: string;
}

/** Folders that are not part of the sources. */
const skipped = new Set(["node_modules", "dist", ".git", ".cache"]);

/** All files of the project, as paths in the repository. */
export function allFiles(folder: string = root): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : allFiles(path);
    return [relative(root, path).replaceAll("\\", "/")];
  });
}

/** All pages, as paths in the repository. */
export const allPages = (): readonly string[] => allFiles().filter((path) => path.endsWith(".md"));

export const pageText = (page: string): string => readFileSync(join(root, page), "utf8");

/** The fenced blocks of a page. */
export function blocksOf(page: string): readonly Block[] {
  const text = pageText(page);
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const [, , language = "", inside = ""] = match;
    const line = text.slice(0, match.index).split("\n").length;
    return { page, line, language, text: inside, commands: language === "console" ? commandsOf(inside) : [] };
  });
}

/** Parses `$ command` or `folder$ command` with the output below. A `\` at the end of a line continues the command. */
function commandsOf(text: string): readonly Command[] {
  const first = /^\w*\$ /m.exec(text);
  if (first === null) {
    return text
      .split("\n")
      .map((line) => line.replace(/ {2,}#.*/, ""))
      .filter((line) => line !== "")
      .map((command) => ({ folder: "", command, prints: "" }));
  }
  return text.split(/^(?=\w*\$ )/m).flatMap((part) => {
    const [, folder = "", command = "", prints = ""] = /^(\w*)\$ ((?:.*\\\n)*.*)\n([\s\S]*)$/.exec(part) ?? [];
    return command === "" ? [] : [{ folder, command, prints }];
  });
}

/** Patterns of values that differ in each run, with their replacements. */
const changing: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<time>"],
];

const settled = (text: string): string =>
  changing.reduce((result, [pattern, name]) => result.replace(pattern, name), text).trim();

/**
 * Returns the pattern of an output shown on a page. Ids and times match any others, `…` matches anything, and white
 * space is ignored.
 */
export function shownAs(prints: string): RegExp {
  const pieces = settled(prints)
    .split("…")
    .map((piece) =>
      piece
        .split(/\s+/)
        .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
        .join("\\s*"),
    );
  return new RegExp(`^${pieces.join("[\\s\\S]*?")}$`);
}

/** Normalizes an output for the pattern of `shownAs`. */
export const asPrinted: (output: string) => string = settled;
