/** Pseudo-random numbers below one, determined by a seed (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Returns true with the given probability. */
  is(probability: number): boolean {
    return this.next() < probability;
  }

  /** An integer in a range, both ends included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(all: readonly T[]): T {
    return all[this.between(0, all.length - 1)] as T;
  }

  shuffled<T>(all: readonly T[]): T[] {
    const left = [...all];
    return all.map(() => left.splice(this.between(0, left.length - 1), 1)[0] as T);
  }
}

/** One fault of a schedule. */
export interface Planned {
  readonly name: string;
  /** The affected replica, for faults of a replica. */
  readonly replica: number;
  /** Its duration, as a share of the maximum of its kind. */
  readonly share: number;
  /** Selects a form of the fault. */
  readonly form: number;
}

/** Simultaneous faults, after a pause. */
export interface Step {
  readonly restMs: number;
  readonly faults: readonly Planned[];
}

/**
 * The endless faults of a seed. Each kind comes once before any comes again. A third of the steps have two faults. The
 * result depends only on the seed, the names and the number of replicas.
 */
export function* schedule(seed: number, names: readonly string[], replicas: number): Generator<Step, never> {
  const chance = new Chance(seed);
  const plan = (name: string): Planned => ({
    name,
    replica: chance.between(0, replicas - 1),
    share: 0.3 + 0.7 * chance.next(),
    form: chance.between(0, 5),
  });
  for (let bag: string[] = []; ; ) {
    if (bag.length < 2) {
      const [first = "", ...rest] = chance.shuffled(names);
      // Two simultaneous faults are of different kinds.
      bag = bag[0] === first ? [...bag, ...rest, first] : [...bag, first, ...rest];
    }
    const count = chance.is(1 / 3) ? 2 : 1;
    yield { restMs: chance.between(200, 1_500), faults: bag.splice(0, count).map(plan) };
  }
}
