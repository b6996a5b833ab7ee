import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../e2e/support/server-process.js";
import { type Fault, faults, type World } from "./faults.js";
import { addressOf } from "./network.js";
import { type Notebook, now } from "./records.js";
import { type Planned, type Step, schedule } from "./schedule.js";

/** Time after a fault in which every replica has to work again, in milliseconds. */
const WORKS_MS = 90_000;

/** An injected fault: its start, its duration, and the time until every replica worked again. */
export interface Injected extends Planned {
  readonly at: number;
  readonly heldMs: number;
  readonly recoveredMs: number;
  /** The names of simultaneous faults. */
  readonly beside: readonly string[];
}

interface Tools {
  readonly log: (line: string) => void;
  /** Resolves when every replica has completed a task. */
  readonly works: () => Promise<void>;
  /** Receives notes of disturbed networks. */
  readonly book: Notebook;
}

/** Injects the faults of a seed into a world, one step after the other. */
export class Nemesis {
  readonly injected: Injected[] = [];
  /** Kinds that were skipped, with the reason. */
  readonly skipped: Map<string, string> = new Map();
  readonly #world: World;
  readonly #seed: number;
  readonly #log: (line: string) => void;
  readonly #works: () => Promise<void>;
  readonly #book: Notebook;

  /** @param only the kinds to inject; all of them if empty */
  constructor(world: World, seed: number, tools: Tools, only: readonly string[] = []) {
    this.#world = world;
    this.#seed = seed;
    this.#log = tools.log;
    this.#works = tools.works;
    this.#book = tools.book;
    for (const [name, fault] of Object.entries(faults)) {
      const why = only.length > 0 && !only.includes(name) ? "not asked for" : fault.lacks(world);
      if (why !== undefined) this.skipped.set(name, why);
    }
  }

  /**
   * Begins no step after `until` on the clock of `now`. If `until` is infinite, ends after each kind has been injected.
   */
  async run(until: number): Promise<void> {
    const kinds = Object.keys(faults).length - this.skipped.size;
    for (const step of schedule(this.#seed, Object.keys(faults), this.#world.replicas.length)) {
      const possible = step.faults.filter(({ name }) => !this.skipped.has(name));
      // A skipped fault takes no time.
      if (possible.length === 0) continue;
      await sleep(step.restMs);
      const isAll = new Set(this.injected.map(({ name }) => name)).size === kinds;
      if (now() >= until || (until === Number.POSITIVE_INFINITY && isAll)) return;
      await this.#step({ ...step, faults: apart(possible) });
    }
  }

  async #step({ faults: planned }: Step): Promise<void> {
    const at = now();
    const held = await Promise.all(planned.map((one) => this.#hold(one)));
    const healed = now();
    await within(WORKS_MS, this.#works(), () => `After ${planned.map(({ name }) => name)} some replica does no work.`);
    const recoveredMs = now() - healed;
    planned.forEach((one, i) => {
      const beside = planned.filter((other) => other !== one).map(({ name }) => name);
      const injected = { ...one, at, heldMs: held[i] as number, recoveredMs, beside };
      this.injected.push(injected);
    });
    const names = planned.map(({ name, replica, form }) => `${name} (${replica}, ${form})`).join(" and ");
    this.#log(`${names}: ${Math.round(healed - at)} ms, works again after ${Math.round(recoveredMs)} ms`);
  }

  /** Injects one fault. Returns its duration. */
  async #hold(planned: Planned): Promise<number> {
    const fault = faults[planned.name] as Fault;
    const begin = now();
    const end = await fault.begin(this.#world, planned);
    await sleep(planned.share * fault.longestMs);
    await end();
    if (fault.area === "link")
      this.#book.note({ kind: "disturbed", address: addressOf(planned.replica), begun: begin });
    return now() - begin;
  }
}

/** Returns the first of two faults of the same area, which would interfere, or both faults. */
function apart(planned: readonly Planned[]): readonly Planned[] {
  const areas = planned.map(({ name }) => faults[name]?.area);
  return new Set(areas).size === areas.length ? planned : planned.slice(0, 1);
}
