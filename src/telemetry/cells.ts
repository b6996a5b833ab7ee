/**
 * The labels of a metric, each with all values that it can have. The number of series is therefore bounded, whatever
 * callers send. A value that is not in the list counts under the last one, so a list that callers can leave ends with
 * `other`.
 */
export type Labels = Readonly<Record<string, readonly string[]>>;

/** One series of a metric: the values of its labels, in the order of the labels. */
export interface Series<V> {
  readonly labels: readonly string[];
  readonly value: V;
}

/** Contents of a histogram. */
export interface Observations {
  /** Number of values up to each bound, and of all others. Not cumulative. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

/**
 * Cells of a metric: one for each combination of label values. A cell is named by its index, which is computed from the
 * values without building a string.
 */
export class LabelSets {
  readonly names: readonly string[];
  /** Number of cells. */
  readonly size: number;
  readonly #values: readonly (readonly string[])[];
  readonly #indexes: readonly ReadonlyMap<string, number>[];

  constructor(labels: Labels) {
    this.names = Object.keys(labels);
    this.#values = Object.values(labels);
    this.#indexes = this.#values.map((values) => new Map(values.map((value, index) => [value, index])));
    this.size = this.#values.reduce((product, { length }) => product * length, 1);
  }

  /** Index of the cell with these values, one for each label in order. */
  at(a?: string, b?: string, c?: string, d?: string): number {
    let index = this.#step(0, 0, a);
    index = this.#step(index, 1, b);
    index = this.#step(index, 2, c);
    return this.#step(index, 3, d);
  }

  /** Label values of a cell. */
  valuesAt(index: number): readonly string[] {
    const found: string[] = [];
    let rest = index;
    for (const values of [...this.#values].reverse()) {
      found.unshift(values[rest % values.length] ?? "");
      rest = Math.floor(rest / values.length);
    }
    return found;
  }

  #step(index: number, label: number, value: string | undefined): number {
    const known = this.#indexes[label];
    if (known === undefined) return index;
    return index * known.size + ((value === undefined ? undefined : known.get(value)) ?? known.size - 1);
  }
}

/** Counters with at most this many cells report the empty ones too, so that the first increase is visible as one. */
const REPORTED_EMPTY = 64;

/** Numbers, one for each label set: counters, which only grow, and gauges that are counted up and down. */
export class Counter {
  readonly sets: LabelSets;
  readonly #cells: Float64Array;

  /** @param labels may be the label sets of another metric: an index then names the cell of both */
  constructor(labels: Labels | LabelSets = {}) {
    this.sets = labels instanceof LabelSets ? labels : new LabelSets(labels);
    this.#cells = new Float64Array(this.sets.size);
  }

  /** Adds to the cell of an index (`sets.at`). */
  add(index = 0, by = 1): void {
    this.#cells[index] = (this.#cells[index] ?? 0) + by;
  }

  /** Value of a cell. */
  get(index = 0): number {
    return this.#cells[index] ?? 0;
  }

  /** The cells to report. */
  read(): Series<number>[] {
    const found: Series<number>[] = [];
    this.#cells.forEach((value, index) => {
      if (value === 0 && this.sets.size > REPORTED_EMPTY) return;
      found.push({ labels: this.sets.valuesAt(index), value });
    });
    return found;
  }
}

/** Distributions of values over fixed buckets, one for each label set. */
export class Histogram {
  readonly sets: LabelSets;
  /** Upper bounds of the buckets, included, in ascending order. */
  readonly bounds: readonly number[];
  /** For each label set that was observed: the counts of the buckets, then the sum. */
  readonly #cells: (Float64Array | undefined)[];

  /** @param labels may be the label sets of another metric: an index then names the cell of both */
  constructor(bounds: readonly number[], labels: Labels | LabelSets = {}) {
    this.sets = labels instanceof LabelSets ? labels : new LabelSets(labels);
    this.bounds = bounds;
    this.#cells = new Array<Float64Array | undefined>(this.sets.size).fill(undefined);
  }

  /** Counts a value in the cell of an index (`sets.at`). */
  observe(value: number, index = 0): void {
    const { bounds } = this;
    const cells = this.#cells[index] ?? this.#begin(index);
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
    cells[bucket] = (cells[bucket] ?? 0) + 1;
    const last = bounds.length + 1;
    cells[last] = (cells[last] ?? 0) + value;
  }

  /** The cells to report: those that were observed, and the only one of a histogram without labels. */
  read(): Series<Observations>[] {
    if (this.sets.size === 1) this.#cells[0] ??= this.#begin(0);
    return this.#cells.flatMap((cells, index) => {
      if (cells === undefined) return [];
      const counts = [...cells.subarray(0, -1)];
      const count = counts.reduce((sum, each) => sum + each, 0);
      return [{ labels: this.sets.valuesAt(index), value: { counts, sum: cells.at(-1) ?? 0, count } }];
    });
  }

  #begin(index: number): Float64Array {
    const cells = new Float64Array(this.bounds.length + 2);
    this.#cells[index] = cells;
    return cells;
  }
}

/** Reads a gauge: one number, or one for each value of its labels; undefined if it is not known. */
export type GaugeReader = () => GaugeValue | Promise<GaugeValue>;

export type GaugeValue = number | readonly Series<number>[] | undefined;
