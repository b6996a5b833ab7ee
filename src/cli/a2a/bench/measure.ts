import type { HttpAnswer } from "../../../client/platform.js";
import { pause } from "../../../core/async.js";
import { clipped, lookOf } from "../../look.js";
import type { Context } from "../context.js";
import { Load } from "./load.js";
import { Meter } from "./meter.js";
import type { BenchOptions } from "./options.js";
import { kindOf, type Outcome, type ReadOutcome } from "./outcome.js";
import { latencyText, type Measured, shownMs, shownRate } from "./report.js";

/** Time for open calls after the end, in milliseconds. They count nowhere. */
const GRACE_MS = 1_000;

/** Time between two lines or pictures of the live view, in milliseconds. */
const VIEW_MS = 1_000;

/** Share of the time in which the generator works, above which it is taken for the limit. */
const LIMIT_SHARE = 0.9;

interface Calls {
  readonly replay: () => Promise<HttpAnswer>;
  readonly read: ReadOutcome;
  readonly close: () => Promise<void>;
}

/** Warms up, measures, and ends the calls. */
export async function measure(
  context: Context,
  options: BenchOptions,
  calls: Calls,
): Promise<{ readonly report: Measured; readonly wasInterrupted: boolean }> {
  const answered = async (): Promise<Outcome> => calls.read(await calls.replay());
  const failed = (error: unknown): Outcome => ({ fault: kindOf(error), bytes: 0, events: 0 });
  const running = new Running(context, options, () => answered().catch(failed));
  try {
    await running.warmUp();
    const report = await running.measure();
    return { report, wasInterrupted: context.signal.aborted };
  } finally {
    running.end();
    await calls.close();
  }
}

class Running {
  readonly #options: BenchOptions;
  readonly #call: () => Promise<Outcome>;
  readonly #signal: AbortSignal;
  readonly #view: LiveView;
  readonly #ticks: NodeJS.Timeout;
  #meter = new Meter();
  #second = new Meter();
  #phase = { name: "warm-up", startedAt: performance.now() };
  #connections = 0;
  #load: Load;

  constructor(context: Context, options: BenchOptions, call: () => Promise<Outcome>) {
    this.#options = options;
    this.#call = call;
    this.#signal = context.signal;
    this.#view = liveView(context);
    this.#ticks = setInterval(this.#tick, VIEW_MS);
    this.#load = this.#begin(Number.POSITIVE_INFINITY);
  }

  /** @throws Failure if it is interrupted */
  async warmUp(): Promise<void> {
    const { warmupMs, requests } = this.#options;
    await pause(warmupMs, this.#signal);
    this.#signal.throwIfAborted();
    // Calls of the warm-up must not count as requests.
    if (requests !== undefined) await ended(this.#load);
    this.#meter = new Meter();
    if (requests !== undefined) this.#load = this.#begin(requests);
  }

  async measure(): Promise<Measured> {
    const { durationMs } = this.#options;
    const startedAt = performance.now();
    this.#phase = { name: "measuring", startedAt };
    const [cpu, loop] = [process.cpuUsage(), performance.eventLoopUtilization()];
    await pause(durationMs, AbortSignal.any([this.#signal, this.#load.idle]));
    const seconds = (performance.now() - startedAt) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    const busy = performance.eventLoopUtilization(loop).utilization;
    this.#countConnections();
    const { late } = this.#load;
    const meter = this.#meter;
    // Calls that end from now on count nowhere.
    this.#meter = new Meter();
    this.#view.end();
    if (!this.#signal.aborted) await ended(this.#load);
    const generator = { cpu: (user + system) / 1_000_000 / seconds, busy, isLimit: busy > LIMIT_SHARE };
    const unfinished = this.#signal.aborted ? 0 : this.#load.open;
    return reportOf(meter, { seconds, connections: this.#connections, late, unfinished, generator });
  }

  end(): void {
    clearInterval(this.#ticks);
    this.#view.end();
    this.#load.stop();
  }

  #begin(requests: number): Load {
    return new Load({
      ...this.#options,
      call: this.#call,
      requests,
      onEnd: (begin, outcome) => {
        this.#meter.record(begin, outcome);
        this.#second.record(begin, outcome);
      },
    });
  }

  readonly #tick = (): void => {
    this.#countConnections();
    this.#view.show({ ...this.#phase, total: this.#meter, second: this.#second, options: this.#options });
    this.#second = new Meter();
  };

  #countConnections(): void {
    // The open TCP connections of this process are those to the agent.
    const sockets = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
    this.#connections = Math.max(this.#connections, sockets);
  }
}

/** Waits for open calls, for a moment. */
async function ended(load: Load): Promise<void> {
  load.stop();
  await pause(GRACE_MS, load.idle);
}

/** Figures that no meter counts. */
type Facts = Pick<Measured, "seconds" | "connections" | "late" | "unfinished" | "generator">;

function reportOf(meter: Meter, facts: Facts): Measured {
  const { counts, errors, latency, firstEvent } = meter;
  const { calls, failed, bytes, events } = counts;
  return {
    ...facts,
    calls,
    perSecond: calls / facts.seconds,
    failed,
    errors: Object.fromEntries([...errors].sort(([, one], [, other]) => other - one)),
    bytes,
    events,
    latency: latency.latencies ?? null,
    firstEvent: firstEvent.latencies ?? null,
  };
}

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
interface LiveView {
  show(shown: Shown): void;
  end(): void;
}

/** Shows a run on stderr: one block on a terminal, otherwise a line each second; with JSON only on a terminal. */
function liveView({ io: { stderr, env }, out }: Context): LiveView {
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
