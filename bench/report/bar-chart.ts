import { at, figure, line, picture, SERIES, text } from "./svg.js";

export interface Bar {
  readonly name: string;
  readonly value: number;
  /** Number of its colour. */
  readonly series: number;
  /** A mark where the goal is. */
  readonly goal?: number;
  /** The value is a lower bound. */
  readonly orMore?: boolean;
}

export interface BarChart {
  readonly title: string;
  /** Meaning of the length of a bar, with its unit. */
  readonly unit: string;
  readonly bars: readonly Bar[];
  /** Where what the bars are compared with would end, and its name. */
  readonly base?: { readonly value: number; readonly name: string };
}

const WIDTH = 680;
const LEFT = 190;
const RIGHT = 70;
const TOP = 52;
const STEP = 26;
const THICK = 16;

const LEGEND = [line(WIDTH - 48, 9, WIDTH - 48, 23, "goal"), text(WIDTH - 12, 20, "goal", "end")];

/** Horizontal bars from zero. */
export function barChart({ title, unit, bars, base }: BarChart): string {
  const ends = [...bars.flatMap(({ value, goal = 0 }) => [value, goal]), base?.value ?? 0];
  const most = Math.max(...ends) * 1.05;
  const x = (value: number): number => LEFT + (value / most) * (WIDTH - LEFT - RIGHT);
  const bottom = TOP + bars.length * STEP;
  const body = bars.flatMap(({ name, value, series, goal, orMore }, index) => {
    const y = TOP + index * STEP;
    const box = `x="${at(LEFT)}" y="${at(y)}" width="${at(x(value) - LEFT)}" height="${THICK}"`;
    return [
      text(LEFT - 8, y + 12, name, "end"),
      `<rect ${box} class="f${SERIES[series % SERIES.length]}"/>`,
      ...(goal === undefined ? [] : [line(x(goal), y - 4, x(goal), y + THICK + 4, "goal")]),
      text(WIDTH - 12, y + 12, `${orMore ? "≥ " : ""}${figure(value)}`, "end"),
    ];
  });
  const baseLine = base === undefined ? [] : [line(x(base.value), TOP - 8, x(base.value), bottom, "base")];
  const baseName = base === undefined ? [] : [text(x(base.value), TOP - 12, base.name, "middle")];
  const hasGoals = bars.some(({ goal }) => goal !== undefined);
  const foot = [text(LEFT, bottom + 18, unit), ...(hasGoals ? LEGEND : [])];
  const told = bars.map(({ name, value, goal, orMore }) => {
    const bound = goal === undefined ? "" : ` (goal ${figure(goal)})`;
    return `${name}: ${orMore ? "at least " : ""}${figure(value)}${bound}`;
  });
  const axis = line(LEFT, TOP - 8, LEFT, bottom, "axis");
  return picture(WIDTH, bottom + 28, title, `${unit}. ${told.join("; ")}.`, [
    axis,
    ...baseLine,
    ...baseName,
    ...body,
    ...foot,
  ]);
}
