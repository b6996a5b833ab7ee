import type { WireCall } from "../protocol.js";
import type { TestServer } from "./child.js";
import { type Bench, CALLERS, type Row, type Target } from "./scenario.js";

/** One server and one call to it, measured in turn with the others of its group. */
export interface Lane {
  readonly name: string;
  readonly server: TestServer;
  readonly call: WireCall;
}

/** One measurement of one lane. */
interface Round {
  readonly perSecond: number;
  /** CPU time of the server for one call, in microseconds. */
  readonly cpuMicros: number;
  /** Share of one core that the load generator used. */
  readonly busy: number;
}

export interface RowOptions {
  readonly column?: string;
  readonly target?: (ratio: number) => Target;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
};

/** The rounds of a group of lanes, measured by turns: a machine that is slow for a moment is slow for all of them. */
export class Rates {
  readonly #rounds: ReadonlyMap<string, readonly Round[]>;

  private constructor(rounds: ReadonlyMap<string, readonly Round[]>) {
    this.#rounds = rounds;
  }

  static async measure(bench: Bench, lanes: readonly Lane[]): Promise<Rates> {
    const { quick, seconds } = bench.options;
    const count = quick ? 5 : 9;
    for (const lane of lanes) await measureOnce(bench, lane, quick ? 200 : 1_000);
    const rounds = new Map<string, Round[]>(lanes.map(({ name }) => [name, []]));
    for (let round = 0; round < count; round++) {
      // Every other round backwards, so that no lane always follows the same one.
      const order = round % 2 === 0 ? lanes : [...lanes].reverse();
      for (const lane of order) rounds.get(lane.name)?.push(await measureOnce(bench, lane, (seconds * 1_000) / count));
    }
    return new Rates(rounds);
  }

  /** Calls a second. */
  perSecond(name: string): number {
    return median(this.#of(name).map((round) => round.perSecond));
  }

  /** How many times as fast as another lane: the median over the rounds. */
  ratio(name: string, of: string): number {
    const others = this.#of(of);
    return median(this.#of(name).map((round, index) => round.perSecond / (others[index]?.perSecond ?? Number.NaN)));
  }

  /** A lane as a line of the table, beside the lane that it is compared with; `column` names the comparison. */
  row(name: string, of: string, { target, column = of }: RowOptions = {}): Row {
    const rounds = this.#of(name);
    const ratio = this.ratio(name, of);
    const figures = {
      "calls/s": this.perSecond(name),
      [`x ${column}`]: ratio,
      // Of the least disturbed round: what else the machine does only ever adds to it.
      "server us CPU/call": Math.min(...rounds.map((round) => round.cpuMicros)),
      "generator % CPU": 100 * median(rounds.map((round) => round.busy)),
    };
    return { name, figures, ...(target === undefined ? {} : { targets: [target(ratio)] }) };
  }

  #of(name: string): readonly Round[] {
    return this.#rounds.get(name) ?? [];
  }
}

async function measureOnce(bench: Bench, { server, call }: Lane, ms: number): Promise<Round> {
  const before = await server.usage();
  const result = await bench.load.run({ kind: "rate", call, callers: CALLERS, ms });
  const after = await server.usage();
  return {
    perSecond: (result.calls * 1_000) / result.ms,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / result.calls,
    busy: result.cpuMs / result.ms,
  };
}
