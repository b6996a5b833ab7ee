import { type GoalName, judge } from "../goals.js";
import type { WireCall } from "../protocol.js";
import type { MeasuredServer } from "./child.js";
import { type Bench, CALLERS, type Row } from "./scenario.js";

/** One server and one call to it, measured in turn with the others of its group. */
export interface Lane {
  readonly name: string;
  readonly server: MeasuredServer;
  readonly call: WireCall;
  /** Looks at one answer closely before anything is measured. @throws Error when it is not what it should be */
  readonly check?: (body: Buffer) => void;
  /** Number of concurrent calls. Default: `CALLERS`. */
  readonly callers?: number;
  /** Number of callers that share a connection of HTTP/1.1. Default: 1. */
  readonly pipelined?: number;
}

/** Report of a load generator about one round. */
export interface Loaded {
  readonly calls: number;
  readonly ms: number;
  /** CPU time of the generator, in milliseconds, where it is known. */
  readonly cpuMs?: number;
  /** Bytes of body of all answers, where they are known. */
  readonly bytes?: number;
}

/** Loads a lane for so many milliseconds, about. */
export type Generator = (bench: Bench, lane: Lane, ms: number) => Promise<Loaded>;

/** One measurement of one lane. */
interface Round {
  readonly perSecond: number;
  /** CPU time of the server for one call, in microseconds. */
  readonly cpuMicros: number;
  /** Cores that the server and the generator used: 1 is the whole of one. */
  readonly serverBusy: number;
  readonly generatorBusy: number;
  /** Bytes of body of one answer. */
  readonly bytes: number;
}

export interface RowOptions {
  readonly column?: string;
  /** The goal that the ratio is judged by. */
  readonly goal?: GoalName;
  /** The goal that the inverse of the ratio, how many times slower the lane is, is judged by. */
  readonly slowerGoal?: GoalName;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
};

const least = (values: readonly number[]): number => Math.min(...values);

/** A server that used less of a core than this was waiting for others: for its generator, or for the machine. */
const SATURATED = 0.8;

/** The bench's own generator, a process beside the server's. */
export const ownGenerator: Generator = (bench, { call, callers = CALLERS, pipelined = 1 }, ms) =>
  bench.load.run({ kind: "rate", call, callers, pipelined, ms });

/** Plan of a measurement: the rounds of each lane, and the durations of a round and of the warm-up, in milliseconds. */
export interface Plan {
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmUpMs: number;
}

function planOf({ options: { quick, seconds } }: Bench): Plan {
  const rounds = quick ? 5 : 9;
  return { rounds, roundMs: (seconds * 1_000) / rounds, warmUpMs: quick ? 200 : 1_000 };
}

/**
 * Number of times that `measureFresh()` starts its servers, and of rounds of each lane per process. The bench's options
 * give the default durations of the warm-up and of a round.
 */
export interface Fresh extends Partial<Omit<Plan, "rounds">> {
  readonly processes: number;
  readonly rounds: number;
}

const USUAL_FRESH: Fresh = { processes: 3, rounds: 3 };

/** The rounds of each lane by its name, all of the same processes. */
type Rounds = ReadonlyMap<string, readonly Round[]>;

/** The rounds of a group of lanes, measured by turns: a machine that is slow for a moment is slow for all of them. */
export class Rates {
  /** By the processes that were measured; each has the same lanes. */
  readonly #sets: readonly Rounds[];

  private constructor(sets: readonly Rounds[]) {
    this.#sets = sets;
  }

  /**
   * As `measure()`, with servers that are started anew several times: what the compiler makes of a program, and what its
   * garbage collector keeps, differs from one process to the next, most of all with gRPC, and stays so while it lives.
   */
  static async measureFresh(
    bench: Bench,
    start: () => Promise<readonly Lane[]>,
    { processes, ...plans }: Fresh = USUAL_FRESH,
  ): Promise<Rates> {
    const once = planOf(bench);
    const { quick } = bench.options;
    const plan = quick ? once : { ...once, warmUpMs: 2 * once.warmUpMs, ...plans };
    const sets: Rounds[] = [];
    for (let count = 0; count < (quick ? 1 : processes); count++) {
      const lanes = await start();
      sets.push(...(await Rates.measure(bench, lanes, ownGenerator, plan)).#sets);
      await Promise.all(lanes.map(({ server }) => server.end()));
    }
    return new Rates(sets);
  }

  static async measure(
    bench: Bench,
    lanes: readonly Lane[],
    generate: Generator = ownGenerator,
    { rounds: count, roundMs, warmUpMs }: Plan = planOf(bench),
  ): Promise<Rates> {
    for (const lane of lanes) {
      lane.check?.(await bench.load.answer(lane.call));
      await ownGenerator(bench, lane, warmUpMs);
    }
    const rounds = new Map<string, Round[]>(lanes.map(({ name }) => [name, []]));
    for (let round = 0; round < count; round++) {
      // Every other round backwards, so that no lane always follows the same one.
      const order = round % 2 === 0 ? lanes : [...lanes].reverse();
      for (const lane of order) rounds.get(lane.name)?.push(await measureOnce(bench, lane, generate, roundMs));
    }
    return new Rates([rounds]);
  }

  /** Calls a second. */
  perSecond(name: string): number {
    return median(this.#of(name).map((round) => round.perSecond));
  }

  /** Returns the rate of a lane divided by that of another: the median over the rounds. */
  ratio(name: string, of: string): number {
    const others = this.#of(of);
    return median(this.#of(name).map((round, index) => round.perSecond / (others[index]?.perSecond ?? Number.NaN)));
  }

  /**
   * CPU time of the server for a call, in microseconds, of the least disturbed round: what else the machine does only ever
   * adds. Of several processes, the one in the middle.
   */
  cpuMicros(name: string): number {
    return median(this.#leastMicros(name));
  }

  /** Returns the CPU time of another lane divided by that of this one: the median over the processes. */
  cpuRatio(name: string, of: string): number {
    const mine = this.#leastMicros(name);
    return median(this.#leastMicros(of).map((other, index) => other / (mine[index] ?? Number.NaN)));
  }

  /** Bytes of body of one answer. */
  answerBytes(name: string): number {
    return median(this.#of(name).map((round) => round.bytes));
  }

  /** A lane as a line of the table, beside the lane that it is compared with; `column` names the comparison. */
  row(name: string, of: string, { goal, slowerGoal, column = of }: RowOptions = {}): Row {
    const rounds = this.#of(name);
    const ratio = this.ratio(name, of);
    const figures = {
      "calls/s": this.perSecond(name),
      [`x ${column}`]: ratio,
      "server us CPU/call": this.cpuMicros(name),
      "x by CPU": this.cpuRatio(name, of),
      "server % CPU": 100 * median(rounds.map((round) => round.serverBusy)),
      "generator % CPU": 100 * median(rounds.map((round) => round.generatorBusy)),
      "answer bytes": this.answerBytes(name),
    };
    const byCpu = figures["x by CPU"];
    const targets = [
      ...(goal === undefined ? [] : [{ ...judge(goal, ratio), byCpu }]),
      ...(slowerGoal === undefined ? [] : [{ ...judge(slowerGoal, 1 / ratio), byCpu: 1 / byCpu }]),
    ];
    const isSaturated = median(rounds.map((round) => round.serverBusy)) >= SATURATED;
    return { name, figures, targets, ...(isSaturated ? {} : { note: "not saturated" }) };
  }

  #of(name: string): readonly Round[] {
    return this.#sets.flatMap((rounds) => rounds.get(name) ?? []);
  }

  /** By process. */
  #leastMicros(name: string): number[] {
    return this.#sets.map((rounds) => least((rounds.get(name) ?? []).map((round) => round.cpuMicros)));
  }
}

async function measureOnce(bench: Bench, lane: Lane, generate: Generator, roundMs: number): Promise<Round> {
  const before = await lane.server.usage();
  const start = performance.now();
  const { calls, ms, cpuMs = Number.NaN, bytes = Number.NaN } = await generate(bench, lane, roundMs);
  const elapsed = performance.now() - start;
  const cpuMicros = (await lane.server.usage()).cpuMicros - before.cpuMicros;
  return {
    perSecond: (calls * 1_000) / ms,
    cpuMicros: cpuMicros / calls,
    serverBusy: cpuMicros / 1_000 / elapsed,
    generatorBusy: cpuMs / ms,
    bytes: bytes / calls,
  };
}
