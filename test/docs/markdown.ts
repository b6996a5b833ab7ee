/** The first sentence of a docstring, without a note about the default. */
export function firstSentence(text: string): string {
  const [first = ""] = text.split(/(?<=\w\w\.|[)`"]\.)\s+/);
  return first.replace(/\.$/, "");
}

/** A table with aligned columns, in the formatter's layout. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, i) => Math.max(3, ...cells.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  const [first = [], ...others] = cells;
  return [first, widths.map((width) => "-".repeat(width)), ...others].map(line).join("\n");
}

/** Breaks a paragraph into lines of at most 100 characters. */
export const wrapped = (text: string): string => `${text.replace(/(.{1,100})(?: |$)/gm, "$1\n").trimEnd()}\n`;
