import { clipped, lookOf } from "../../look.js";
import type { Context } from "../context.js";
import type { Meter } from "./meter.js";
import type { BenchOptions } from "./options.js";
import { latencyText, shownMs, shownRate } from "./report.js";

interface Shown {
  readonly name: string;
  /** `performance.now()` of its begin. */
  readonly startedAt: number;
  /** All calls of the phase, and those of the last second. */
  readonly total: Meter;
  readonly second: Meter;
  readonly options: BenchOptions;
}

/** Shows a run while it lasts. */
export interface LiveView {
  show(shown: Shown): void;
  end(): void;
}

/** Shows a run on stderr: one block on a terminal, otherwise a line each second; with JSON only on a terminal. */
export function liveView({ io: { stderr, env }, out }: Context): LiveView {
  if (stderr.isTTY !== true || env.TERM === "dumb") {
    return { show: (shown) => void (out.mode.isJson || out.note(lineOf(shown))), end: () => {} };
  }
  let height = 0;
  const begin = (): string => (height === 0 ? "" : `\x1b[${height}A`);
  return {
    show: (shown) => {
      const { errors, latency } = shown.total;
      const { latencies } = latency;
      const lines = [
        lineOf(shown),
        ...(latencies === undefined ? [] : [latencyText(latencies)]),
        ...[...errors].slice(0, 4).map(([kind, count]) => `${count} ${kind}`),
      ].map((line) => `${clipped(line, lookOf(stderr))}\x1b[K\n`);
      stderr.write(`${begin()}${lines.join("")}\x1b[J`);
      height = lines.length;
    },
    end: () => {
      if (height > 0) stderr.write(`${begin()}\x1b[J`);
      height = 0;
    },
  };
}

function lineOf({ name, startedAt, total, second, options: { durationMs, requests } }: Shown): string {
  const elapsed = Math.round((performance.now() - startedAt) / 1_000);
  const left =
    requests === undefined ? `of ${Math.round(durationMs / 1_000)} s` : `s, ${total.counts.calls} of ${requests}`;
  const { latencies } = second.latency;
  const times = latencies === undefined ? "" : `, p50 ${shownMs(latencies.p50)} ms, p99 ${shownMs(latencies.p99)} ms`;
  const place = name === "measuring" ? `${elapsed} ${left}` : name;
  return `${place}: ${shownRate(second.counts.calls)} calls/s${times}, ${total.counts.failed} failed`;
}
