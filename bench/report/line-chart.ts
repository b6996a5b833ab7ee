import { at, figure, line, picture, SERIES, text } from "./svg.js";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface LineChart {
  readonly title: string;
  readonly xUnit: string;
  readonly yUnit: string;
  /** True for a logarithmic vertical axis; false for one from zero. The horizontal one is always logarithmic. */
  readonly isLog: boolean;
  readonly lines: readonly { readonly name: string; readonly points: readonly Point[] }[];
}

const WIDTH = 680;
const LEFT = 70;
const RIGHT = 180;
const TOP = 48;
const HEIGHT = 200;

/** Powers of ten that enclose all values. */
function decades(values: readonly number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)) + 1e-9);
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

/** Round values from zero to the largest one. */
function steps(values: readonly number[]): number[] {
  const most = Math.max(...values);
  const unit = 10 ** Math.floor(Math.log10(most));
  const step = [0.2, 0.5, 1, 2].map((share) => share * unit).find((one) => most / one <= 5) ?? unit;
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
}

const log = Math.log10;

/** Names of lines of other servers, which are grey. Our own lines have the other colours, in turns. */
const OTHERS = /^(peer|node:http)/;

function seriesOf(names: readonly string[]): (typeof SERIES)[number][] {
  const own = SERIES.filter((series) => series !== "c");
  let next = 0;
  return names.map((name) => (OTHERS.test(name) ? "c" : (own[next++ % own.length] ?? "a")));
}

/** Lines over a logarithmic horizontal axis. */
export function lineChart({ title, xUnit, yUnit, isLog, lines }: LineChart): string {
  const points = lines.flatMap((one) => one.points);
  const xs = [...new Set(points.map((point) => point.x))].sort((a, b) => a - b);
  const ticks = isLog ? decades(points.map(({ y }) => y)) : steps(points.map(({ y }) => y));
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const [left = 1, right = 10] = [xs[0], xs.at(-1)];
  const x = (value: number): number =>
    LEFT + ((log(value) - log(left)) / (log(right) - log(left) || 1)) * (WIDTH - LEFT - RIGHT);
  const share = (value: number): number => (isLog ? (log(value) - log(low)) / (log(high) - log(low)) : value / high);
  const y = (value: number): number => TOP + HEIGHT - share(value) * HEIGHT;
  const end = WIDTH - RIGHT;
  const grid = ticks.flatMap((tick) => [
    line(LEFT, y(tick), end, y(tick), "grid"),
    text(LEFT - 6, y(tick) + 4, figure(tick), "end"),
  ]);
  const marks = xs.map((value) => text(x(value), TOP + HEIGHT + 18, figure(value), "middle"));
  const colours = seriesOf(lines.map(({ name }) => name));
  const drawn = lines.flatMap((one, index) => {
    const series = colours[index];
    const path = one.points.map((point) => `${at(x(point.x))},${at(y(point.y))}`).join(" ");
    const dots = one.points.map(
      (point) => `<circle cx="${at(x(point.x))}" cy="${at(y(point.y))}" r="3" class="f${series}"/>`,
    );
    const key = TOP + 8 + index * 20;
    return [
      `<polyline points="${path}" class="line ${series}"/>`,
      ...dots,
      `<polyline points="${at(end + 14)},${at(key)} ${at(end + 38)},${at(key)}" class="line ${series}"/>`,
      text(end + 44, key + 4, one.name),
    ];
  });
  const axes = [line(LEFT, TOP, LEFT, TOP + HEIGHT, "axis"), line(LEFT, TOP + HEIGHT, end, TOP + HEIGHT, "axis")];
  const units = [text(LEFT, TOP - 10, yUnit), text(end, TOP + HEIGHT + 36, xUnit, "end")];
  const told = lines.map(
    ({ name, points: all }) => `${name}: ${all.map((p) => `${figure(p.y)} at ${figure(p.x)}`).join(", ")}`,
  );
  const description = `${yUnit}, by ${xUnit}. ${told.join("; ")}.`;
  return picture(WIDTH, TOP + HEIGHT + 46, title, description, [...grid, ...axes, ...marks, ...units, ...drawn]);
}
