import { printable } from "./log.js";
import { type Colour, cut, type Look, paint, widthOf } from "./look.js";

/** A cell: its text, or the text and its colour. */
export type Cell = string | { readonly text: string; readonly colour: Colour | undefined };

export interface Column {
  readonly title: string;
  /** Narrowest width to which it may be cut. Default: it is never cut. */
  readonly min?: number;
  /** True for numbers. */
  readonly right?: boolean;
}

const GAP = 2;

/**
 * Returns the lines of a table. On a terminal empty columns are left out; where the others would be wider, the widest are
 * cut, and then the last are left out.
 */
export function table(all: readonly Column[], allRows: readonly (readonly Cell[])[], look: Look): string[] {
  const { columns, rows } = look.width === undefined ? { columns: all, rows: allRows } : filled(all, allRows);
  const texts = rows.map((row) => row.map((cell) => printable(cellText(cell))));
  const natural = columns.map(({ title }, at) =>
    texts.reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? "")), title.length),
  );
  const widths = fitted(columns, natural, look.width);
  const line = (cells: readonly string[], paint: (text: string, at: number) => string): string =>
    widths
      .map((width, at) => {
        const text = cut(cells[at] ?? "", width);
        const space = " ".repeat(width - widthOf(text));
        const painted = paint(text, at);
        if (columns[at]?.right === true) return space + painted;
        return at === widths.length - 1 ? painted : painted + space;
      })
      .join(" ".repeat(GAP))
      .trimEnd();
  const titles = line(
    columns.map(({ title }) => title),
    (text) => paint(text, "bold", look),
  );
  return [
    titles,
    ...texts.map((row, index) => line(row, (text, at) => paint(text, colourOf(rows[index]?.[at]), look))),
  ];
}

/** Leaves empty columns out, whose width others need. */
function filled(
  all: readonly Column[],
  allRows: readonly (readonly Cell[])[],
): { readonly columns: readonly Column[]; readonly rows: readonly (readonly Cell[])[] } {
  const isKept = all.map((_, at) => allRows.length === 0 || allRows.some((row) => cellText(row[at]) !== ""));
  const keep = <T>(items: readonly T[]): T[] => items.filter((_, at) => isKept[at]);
  return { columns: keep(all), rows: allRows.map(keep) };
}

/** Returns lines of `name value`, for one object. Empty values are left out. */
export function facts(pairs: readonly (readonly [name: string, value: Cell])[], look: Look): string[] {
  const shown = pairs.filter(([, value]) => cellText(value) !== "");
  const widest = shown.reduce((width, [name]) => Math.max(width, name.length), 0);
  return shown.map(([name, value]) => {
    const label = `${name.padEnd(widest)}  `;
    const text = printable(cellText(value));
    return paint(label, "dim", look) + paint(cut(text, restOf(look, widest + GAP)), colourOf(value), look);
  });
}

function restOf({ width }: Look, used: number): number {
  return width === undefined ? Number.POSITIVE_INFINITY : Math.max(1, width - used);
}

const cellText = (cell: Cell | undefined): string => (typeof cell === "object" ? cell.text : (cell ?? ""));
const colourOf = (cell: Cell | undefined): Colour | undefined => (typeof cell === "object" ? cell.colour : undefined);

/** Widths of the columns that are shown. */
function fitted(columns: readonly Column[], natural: readonly number[], width: number | undefined): number[] {
  const widths = [...natural];
  if (width === undefined) return widths;
  const excess = (): number => widths.reduce((sum, each) => sum + each + GAP, -GAP) - width;
  const least = (at: number): number => Math.min(natural[at] ?? 0, columns[at]?.min ?? natural[at] ?? 0);
  for (;;) {
    if (excess() <= 0) return widths;
    const wide = widths.map((each, at) => (each > least(at) ? each : 0));
    const widest = Math.max(...wide);
    if (widest > 0) {
      const at = wide.indexOf(widest);
      const next = Math.max(0, ...wide.filter((each) => each < widest));
      widths[at] = Math.max(least(at), next, widest - excess());
      if (widths[at] === widest) widths[at] = widest - 1;
    } else if (widths.length > 1) {
      widths.pop();
      for (let at = 0; at < widths.length; at++) widths[at] = natural[at] ?? 0;
    } else return [Math.min(widths[0] ?? 0, width)];
  }
}
