import { styleText } from "node:util";
import { marked, type Token, type Tokens } from "marked";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

/** Longest block that is kept for its format, in characters. A longer one is written as it is. */
const MAX_BLOCK = 32 * 1024;

/** Length up to which a block is parsed at each new line, in characters. A longer one is parsed when it grew by an eighth. */
const SMALL_BLOCK = 512;

/** Deepest nesting of blocks that is formatted. */
const MAX_DEPTH = 8;

/** Widest line of text, in columns: longer lines are hard to read. */
const MAX_WIDTH = 100;

export interface MarkdownLook {
  readonly width: number;
  readonly colour: boolean;
}

/**
 * Markdown that arrives in pieces. Finished blocks are handed out once, formatted; only the last block is parsed again
 * when it grows, and its length is limited, so the cost is linear in the text.
 */
export class MarkdownStream {
  #pending = "";
  /** Length of `#pending` when it was last parsed. */
  #parsed = 0;
  readonly #look: () => MarkdownLook;

  /** @param look the present width and colours */
  constructor(look: () => MarkdownLook) {
    this.#look = look;
  }

  /** The text that is not handed out yet. */
  get pending(): string {
    return this.#pending;
  }

  /** Adds text, and returns the lines of the blocks that it finishes. */
  push(text: string): readonly string[] {
    this.#pending += text;
    const { length } = this.#pending;
    // A block ends with a line.
    const isDue = length < SMALL_BLOCK || length > this.#parsed * 1.125;
    if (!(text.includes("\n") && isDue) && length < MAX_BLOCK) return [];
    const tokens = lexed(this.#pending);
    if (tokens === undefined) return this.end();
    const last = tokens.findLastIndex(({ type }) => type !== "space");
    const rest = tokens.slice(Math.max(0, last)).reduce((sum, { raw }) => sum + raw.length, 0);
    const whole = this.#pending.slice(0, this.#pending.length - rest);
    if (rest >= MAX_BLOCK) return this.end();
    this.#pending = this.#pending.slice(whole.length);
    this.#parsed = this.#pending.length;
    return whole === "" ? [] : rendered(tokens.slice(0, last), this.#look());
  }

  /** Returns the remaining lines. */
  end(): readonly string[] {
    const text = this.#pending;
    this.#pending = "";
    return text.trim() === "" ? [] : preview(text, this.#look());
  }

  /** Returns the present form of the block that is not finished. */
  preview(): readonly string[] {
    return preview(this.#pending, this.#look());
  }
}

/** Formats a whole text; one that is too long is only wrapped. */
function preview(text: string, look: MarkdownLook): readonly string[] {
  const tokens = text.length > MAX_BLOCK ? undefined : lexed(text);
  return tokens === undefined ? text.replace(/\n$/, "").split("\n") : rendered(tokens, look);
}

/** Matches a line with a hundred quote and list markers before its text. */
const tooDeep = /^(?:[ \t]*(?:>|(?:[-+*]|\d+[.)])[ \t])){100}/m;

/** Parses a text. Returns undefined if it is nested too deeply for the parser. */
function lexed(text: string): Token[] | undefined {
  if (tooDeep.test(text)) return undefined;
  try {
    return marked.lexer(text);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function rendered(tokens: readonly Token[], look: MarkdownLook): readonly string[] {
  return blocks(tokens, { ...look, width: Math.min(look.width, MAX_WIDTH), depth: 0 });
}

interface BlockLook extends MarkdownLook {
  readonly depth: number;
}

type Style = "bold" | "dim" | "italic" | "underline" | "strikethrough" | "cyan";

function styled(text: string, style: Style, { colour }: MarkdownLook): string {
  return colour && text !== "" ? styleText(style, text, { validateStream: false }) : text;
}

function blocks(tokens: readonly Token[], place: BlockLook): string[] {
  const all: string[] = [];
  for (const token of tokens) {
    if (token.type === "space") continue;
    const lines = place.depth > MAX_DEPTH ? token.raw.split("\n") : block(token, place);
    if (all.length > 0 && place.depth === 0) all.push("");
    all.push(...lines);
  }
  // Blocks of the top level are parted from what follows.
  return place.depth === 0 && all.length > 0 ? [...all, ""] : all;
}

function block(token: Token, place: BlockLook): string[] {
  switch (token.type) {
    case "heading":
      return wrap(
        styled(`${"#".repeat((token as Tokens.Heading).depth)} ${inline(token, place)}`, "bold", place),
        place,
      );
    case "code":
      return indented(
        (token as Tokens.Code).text.split("\n").map((line) => styled(line, "cyan", place)),
        "    ",
      );
    case "blockquote":
      return indented(blocks((token as Tokens.Blockquote).tokens, inner(place, 2)), styled("│ ", "dim", place));
    case "list":
      return (token as Tokens.List).items.flatMap((item, at) =>
        listItem(item, marker(token as Tokens.List, at), place),
      );
    case "table":
      return tableLines(token as Tokens.Table, place);
    case "hr":
      return [styled("─".repeat(Math.min(place.width, 40)), "dim", place)];
    default:
      return wrap(inline(token, place), place);
  }
}

function inner(place: BlockLook, indent: number): BlockLook {
  return { ...place, width: Math.max(10, place.width - indent), depth: place.depth + 1 };
}

function marker({ ordered, start }: Tokens.List, at: number): string {
  return ordered ? `${Number(start || 1) + at}. ` : "• ";
}

function listItem(item: Tokens.ListItem, bullet: string, place: BlockLook): string[] {
  const box = item.task ? `[${item.checked === true ? "x" : " "}] ` : "";
  const indent = " ".repeat(bullet.length);
  const [first = "", ...more] = blocks(
    item.tokens.filter(({ type }) => type !== "checkbox"),
    inner(place, bullet.length),
  );
  return [bullet + box + first, ...indented(more, indent)];
}

function indented(lines: readonly string[], by: string): string[] {
  return lines.map((line) => by + line);
}

function wrap(text: string, { width }: BlockLook): string[] {
  return wrapAnsi(text, width, { hard: true }).split("\n");
}

/** Returns a table; one that does not fit is shown as its cells, a line each. */
function tableLines({ header, rows }: Tokens.Table, place: BlockLook): string[] {
  const cells = [header, ...rows].map((row) => row.map((cell) => inline(cell, place)));
  const widths = header.map((_, at) => Math.max(...cells.map((row) => stringWidth(row[at] ?? ""))));
  if (widths.reduce((sum, width) => sum + width + 3, -3) > place.width) {
    const [titles = [], ...more] = cells;
    return more.flatMap((row) => row.flatMap((cell, at) => wrap(`${titles[at] ?? ""}: ${cell}`, place)));
  }
  const line = (row: readonly string[]): string =>
    widths.map((width, at) => (row[at] ?? "") + " ".repeat(width - stringWidth(row[at] ?? ""))).join(" │ ");
  const [titles = [], ...more] = cells;
  return [
    styled(line(titles), "bold", place),
    styled(widths.map((width) => "─".repeat(width)).join("─┼─"), "dim", place),
    ...more.map(line),
  ];
}

/** Returns the text of a token with the styles of its parts. */
function inline(token: Token | Tokens.TableCell, place: BlockLook, depth = 0): string {
  const { tokens } = token as { readonly tokens?: Token[] };
  const text = (): string =>
    tokens === undefined || depth > MAX_DEPTH
      ? ((token as { readonly text?: string }).text ?? "")
      : tokens.map((each) => inline(each, place, depth + 1)).join("");
  switch ((token as Token).type) {
    case "strong":
      return styled(text(), "bold", place);
    case "em":
      return styled(text(), "italic", place);
    case "del":
      return styled(text(), "strikethrough", place);
    case "codespan":
      return styled((token as Tokens.Codespan).text, "cyan", place);
    case "br":
      return "\n";
    case "link":
    case "image":
      return link(text(), (token as Tokens.Link).href, place);
    default:
      return text();
  }
}

function link(text: string, href: string, place: BlockLook): string {
  const shown = styled(text, "underline", place);
  return text === href || `mailto:${text}` === href || href === "" ? shown : `${shown} (${href})`;
}
