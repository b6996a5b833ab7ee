import type { HttpAnswer } from "../../../client/platform.js";
import { pause } from "../../../core/async.js";
import { clipped, lookOf } from "../../look.js";
import type { Context } from "../context.js";
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

/** Pause of a caller after a call that failed, so that a dead server is not called as fast as possible, in milliseconds. */
const FAILED_MS = 10;

/** Interval at which calls of a rate begin, in milliseconds. */
const TICK_MS = 1;

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
    const load: Load = new Load({
      ...this.#options,
      call: this.#call,
      requests,
      onEnd: (begin, outcome) => {
        // A call of the warm-up may last longer than the wait for its end.
        if (load !== this.#load) return;
        this.#meter.record(begin, outcome);
        this.#second.record(begin, outcome);
      },
    });
    return load;
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

interface LoadOptions {
  /** Makes one call. It does not reject. */
  readonly call: () => Promise<Outcome>;
  /** Maximum number of calls at once. */
  readonly callers: number;
  /** Calls per second; undefined if each call follows another. */
  readonly rate: number | undefined;
  readonly requests: number;
  /** Called at the end of each call. @param begin `performance.now()` of its intended begin */
  readonly onEnd: (begin: number, outcome: Outcome) => void;
}

/**
 * Calls that are made until it is stopped. With a rate, a call that has to wait for others begins when it was due: the
 * wait is part of its latency.
 */
class Load {
  readonly #options: LoadOptions;
  readonly #startedAt = performance.now();
  readonly #ticks: NodeJS.Timeout | undefined;
  readonly #idle = new AbortController();
  #isRunning = true;
  #begun = 0;
  #open = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    if (options.rate !== undefined) this.#ticks = setInterval(this.#fill, TICK_MS);
    this.#fill();
  }

  /** Calls that are open. */
  get open(): number {
    return this.#open;
  }

  /** Calls that are due and have not begun. */
  get late(): number {
    const isPaced = this.#isRunning && this.#options.rate !== undefined;
    return isPaced ? Math.max(0, this.#due() - this.#begun) : 0;
  }

  /** Aborts when no call is open and none will begin. */
  get idle(): AbortSignal {
    return this.#idle.signal;
  }

  stop(): void {
    this.#isRunning = false;
    clearInterval(this.#ticks);
    if (this.#open === 0) this.#idle.abort();
  }

  #due(): number {
    const { rate, requests, callers } = this.#options;
    if (rate === undefined) return Math.min(requests, this.#begun + callers);
    return Math.min(requests, Math.floor(((performance.now() - this.#startedAt) * rate) / 1_000) + 1);
  }

  readonly #fill = (): void => {
    const { callers, requests, rate } = this.#options;
    for (let due = this.#due(); this.#isRunning && this.#open < callers && this.#begun < due; this.#begun++) {
      const begin = rate === undefined ? performance.now() : this.#startedAt + (this.#begun * 1_000) / rate;
      this.#open++;
      void this.#one(begin);
      if (rate === undefined) due = Math.min(requests, due + 1);
    }
    if (this.#begun >= requests) this.#isRunning = false;
    if (!this.#isRunning && this.#open === 0) this.stop();
  };

  async #one(begin: number): Promise<void> {
    const { call, onEnd } = this.#options;
    const outcome = await call();
    onEnd(begin, outcome);
    if (outcome.fault !== undefined && this.#isRunning) await pause(FAILED_MS, undefined);
    this.#open--;
    this.#fill();
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
