import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { serverWords } from "../../texts/server.js";
import { bytesText, durationText } from "../../ui/format.js";
import { Button, css, Note } from "../../ui/parts.js";
import { Chart } from "./chart.js";
import type { MetricsState } from "./metrics-poll.js";
import { gauge, gauges, keyOf, type Line, quantilesOf, rates, type Sample } from "./samples.js";
import page from "./server.module.css";

const { metrics: texts } = serverWords;

const number = new Intl.NumberFormat(navigator.language, { maximumFractionDigits: 2 });
const numbers = (value: number): string => number.format(value);
const perSecond = (value: number): string => `${number.format(value)}${texts.perSecond}`;

/** Short times need their decimals. */
const times = (seconds: number): string =>
  seconds < 0.1 ? `${number.format(seconds * 1_000)} ms` : durationText(seconds * 1_000);

interface ChartRow {
  readonly key: keyof typeof texts.charts;
  readonly lines: (samples: readonly Sample[]) => readonly Line[];
  readonly shown: (value: number) => string;
}

const named =
  (rows: readonly (readonly [key: string, name: string])[]) =>
  (samples: readonly Sample[]): readonly Line[] =>
    rows.map(([key, name]) => gauge(samples, key, name));

/** Methods whose calls are streams. */
const streaming = /Stream|Subscribe/;

/** Open calls, those that stream apart. */
function openCalls(samples: readonly Sample[]): readonly Line[] {
  const key = keyOf("parley_calls_open", "method");
  const sum = (isWanted: (method: string) => boolean): (number | undefined)[] =>
    samples.map(({ sums }) => {
      const open = sums.get(key);
      return open && [...open].reduce((all, [method, value]) => (isWanted(method) ? all + value : all), 0);
    });
  return [
    { name: texts.lines.streams, values: sum((method) => streaming.test(method)) },
    { name: texts.lines.calls, values: sum((method) => !streaming.test(method)) },
  ];
}

const calls = (by: string) => (samples: readonly Sample[]) => rates(samples, keyOf("parley_calls_total", by));
const quantiles = (name: string) => (samples: readonly Sample[]) => quantilesOf(samples, name);
const commits = (samples: readonly Sample[]): readonly Line[] =>
  rates(samples, "parley_store_commit_duration_seconds_count").map((line) => ({ ...line, name: texts.lines.commits }));

const { lines } = texts;

const charts: readonly ChartRow[] = [
  { key: "binding", lines: calls("binding"), shown: perSecond },
  { key: "version", lines: calls("version"), shown: perSecond },
  { key: "code", lines: calls("code"), shown: perSecond },
  { key: "latency", lines: quantiles("parley_call_duration_seconds"), shown: times },
  { key: "firstEvent", lines: quantiles("parley_first_event_seconds"), shown: times },
  { key: "loop", lines: (samples) => gauges(samples, keyOf("parley_event_loop_delay_seconds", "stat")), shown: times },
  { key: "commits", lines: commits, shown: perSecond },
  { key: "commitTime", lines: quantiles("parley_store_commit_duration_seconds"), shown: times },
  { key: "append", lines: quantiles("parley_append_duration_seconds"), shown: times },
  { key: "streams", lines: openCalls, shown: numbers },
  {
    key: "executions",
    lines: named([
      ["parley_executions_running", lines.running],
      ["parley_executions_waiting", lines.waiting],
    ]),
    shown: numbers,
  },
  {
    key: "deliveries",
    lines: named([
      ["parley_deliveries_working", lines.working],
      ["parley_deliveries_due", lines.due],
      ["parley_deliveries_dead", lines.dead],
    ]),
    shown: numbers,
  },
  { key: "deliveryTime", lines: quantiles("parley_delivery_duration_seconds"), shown: times },
  {
    key: "memory",
    lines: named([
      ["process_resident_memory_bytes", lines.resident],
      ["nodejs_heap_size_used_bytes", lines.heap],
    ]),
    shown: bytesText,
  },
];

interface MetricsTabProps {
  readonly metrics: MetricsState;
  readonly isTable: boolean;
}

/** The metrics of the last half hour as small charts, or as tables. */
export function MetricsTab({ metrics: { samples, isOff, error }, isTable }: MetricsTabProps): ReactNode {
  const navigate = useNavigate({ from: "/operate/server" });
  const drawn = useMemo(() => charts.map((chart) => ({ ...chart, lines: chart.lines(samples) })), [samples]);
  if (isOff) return <Note>{texts.off}</Note>;
  return (
    <>
      <div className={css.row}>
        <p className={`${css.soft} ${css.grow}`}>{texts.about}</p>
        <Button
          onClick={() =>
            void navigate({ search: (before) => ({ ...before, view: isTable ? undefined : "tables" }), replace: true })
          }
        >
          {isTable ? texts.asCharts : texts.asTables}
        </Button>
      </div>
      {error !== undefined && <Note tone="bad">{error.message}</Note>}
      {samples.length < 2 && (
        <p role="status" className={css.soft}>
          {texts.collecting}
        </p>
      )}
      <div className={page.grid}>
        {drawn.map((chart) => (
          <Chart
            key={chart.key}
            title={texts.charts[chart.key]}
            samples={samples}
            lines={chart.lines}
            shown={chart.shown}
            isTable={isTable}
          />
        ))}
      </div>
    </>
  );
}
