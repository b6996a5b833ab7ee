import { readFileSync } from "node:fs";

const MIB = 2 ** 20;

/** Figures of a process under attack: its memory, and the latency of a well-behaved caller. */
export class Figures {
  readonly #memory: () => number | Promise<number>;
  readonly #first: number;
  #most: number;
  readonly #latencies: number[] = [];

  private constructor(memory: () => number | Promise<number>, first: number) {
    this.#memory = memory;
    this.#first = first;
    this.#most = first;
  }

  /** @param memory returns the bytes that the process has in memory */
  static async begin(memory: () => number | Promise<number>): Promise<Figures> {
    return new Figures(memory, await memory());
  }

  /** Makes calls of a well-behaved caller, one after the other, and reads the memory after each. */
  async during(calls: number, call: () => Promise<unknown>): Promise<void> {
    for (let i = 0; i < calls; i++) {
      const begun = performance.now();
      await call();
      this.#latencies.push(performance.now() - begun);
      this.#most = Math.max(this.#most, await this.#memory());
    }
  }

  /** The most that the process had in memory after a call, in MiB. */
  get most(): number {
    return this.#most / MIB;
  }

  /** The same without the memory that it had before the attack. */
  get grown(): number {
    return (this.#most - this.#first) / MIB;
  }

  /** Prints the figures. A test may bound the memory, but no test depends on a clock. */
  print(attack: string): void {
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    const at = (part: number): string => (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(1);
    process.stdout.write(
      `${attack}: ${this.most.toFixed(0)} MiB, ${this.grown.toFixed(0)} more than before; ` +
        `${sorted.length} calls beside it: p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)} ms\n`,
    );
  }
}

/** Bytes that another process has in memory. */
export function resident(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) * 1_024;
}
