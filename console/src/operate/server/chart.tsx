import { memo, type ReactNode } from "react";
import { serverWords } from "../../texts/server.js";
import { clockTime } from "../../ui/format.js";
import { classes, css } from "../../ui/parts.js";
import type { Line, Sample } from "./samples.js";
import page from "./server.module.css";

const { metrics: texts } = serverWords;

/** Size of the drawing. It is stretched to the width of its card. */
const WIDTH = 300;
const HEIGHT = 64;

/** Milliseconds between the rows of a table. */
const TABLE_STEP = 60_000;

interface ChartProps {
  readonly title: string;
  readonly samples: readonly Sample[];
  readonly lines: readonly Line[];
  /** Returns a value as people read it. */
  readonly shown: (value: number) => string;
  readonly isTable: boolean;
}

/** Values over time: a small chart with its present values, or a table of the same. */
export const Chart = memo(({ title, samples, lines, shown, isTable }: ChartProps): ReactNode => {
  const has = lines.some(({ values }) => values.some((value) => value !== undefined));
  const most = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  return (
    <figure className={classes(css.card, page.chart)}>
      <figcaption className={page.caption}>
        <span>{title}</span>
        {has && !isTable && <span className={css.soft}>{shown(most)}</span>}
      </figcaption>
      {!has && <p className={classes(css.soft, css.small, page.nothing)}>{texts.nothing}</p>}
      {has && isTable && <ValueTable title={title} samples={samples} lines={lines} shown={shown} />}
      {has && !isTable && (
        <>
          <Drawing title={title} samples={samples} lines={lines} most={most} shown={shown} />
          <Legend lines={lines} shown={shown} />
        </>
      )}
    </figure>
  );
});

const lastOf = ({ values }: Line): number | undefined => values.findLast((value) => value !== undefined);

interface DrawingProps extends Omit<ChartProps, "isTable"> {
  readonly most: number;
}

function Drawing({ title, samples, lines, most, shown }: DrawingProps): ReactNode {
  const [first, last] = [samples[0]?.at ?? 0, samples.at(-1)?.at ?? 0];
  // Half a minute at least, so that a short time does not look like a long one.
  const from = Math.min(first, last - 30_000);
  const xOf = (at: number): number => ((at - from) / (last - from)) * WIDTH;
  const yOf = (value: number): number => HEIGHT - 2 - (most === 0 ? 0 : (value / most) * (HEIGHT - 6));
  const now = lines.map((line) => `${line.name} ${shown(lastOf(line) ?? 0)}`);
  return (
    <svg
      className={page.drawing}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={texts.now(title, new Intl.ListFormat().format(now))}
    >
      <line x1={0} x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} className={page.axis} />
      {lines.map(({ name, values }, index) => (
        <path key={name} className={page.line} data-line={index} d={pathOf(values, samples, xOf, yOf)} />
      ))}
    </svg>
  );
}

function pathOf(
  values: Line["values"],
  samples: readonly Sample[],
  xOf: (at: number) => number,
  yOf: (value: number) => number,
): string {
  let path = "";
  let isOpen = false;
  for (const [index, value] of values.entries()) {
    const at = samples[index]?.at;
    if (value === undefined || at === undefined) {
      isOpen = false;
      continue;
    }
    path += `${isOpen ? "L" : "M"}${xOf(at).toFixed(1)} ${yOf(value).toFixed(1)}`;
    // One value alone is a dot.
    if (!isOpen) path += "h0.1";
    isOpen = true;
  }
  return path;
}

function Legend({ lines, shown }: Pick<ChartProps, "lines" | "shown">): ReactNode {
  return (
    <ul className={page.legend}>
      {lines.map((line, index) => {
        const last = lastOf(line);
        return (
          <li key={line.name}>
            <span className={page.swatch} data-line={index} aria-hidden="true" />
            {line.name} <strong>{last === undefined ? "–" : shown(last)}</strong>
          </li>
        );
      })}
    </ul>
  );
}

/** The values once a minute, newest first. */
function ValueTable({ title, samples, lines, shown }: Omit<ChartProps, "isTable">): ReactNode {
  const rows: number[] = [];
  for (let index = samples.length - 1, next = Infinity; index >= 0; index--) {
    const at = samples[index]?.at ?? 0;
    if (at > next) continue;
    rows.push(index);
    next = at - TABLE_STEP;
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it.
    <section className={page.table} tabIndex={0} aria-label={texts.table(title)}>
      <table className={css.table}>
        <thead>
          <tr>
            <th scope="col">{texts.time}</th>
            {lines.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((index) => (
            <tr key={index}>
              <td>{clockTime(new Date(samples[index]?.at ?? 0))}</td>
              {lines.map(({ name, values }) => {
                const value = values[index];
                return <td key={name}>{value === undefined ? "–" : shown(value)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
