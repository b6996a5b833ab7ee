import type { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { outagesOf } from "../../src/engine/log/attempts.js";
import type { SignalMember, Signals } from "../../src/signals/signals.js";
import { memoryStore } from "../../src/store/memory/index.js";
import {
  type AppendRequest,
  type Lease,
  type LeaseChange,
  StoreError,
  type TaskHead,
  type TaskStore,
} from "../../src/store/task-store.js";
import { Clock } from "./clock.js";
import type { Choose } from "./explore.js";

export const LEASE_MS = 1_500;

/** Time after which a stopped process continues. Another process has its leases by then. */
const STOPPED_MS = 3 * LEASE_MS;

/** Trouble in a schedule, each kind at most once. */
export type Trouble = "stop" | "kill" | "hold" | "lose" | "refuse";

/** A step that waits to be taken. */
interface Step {
  readonly process: number;
  readonly name: string;
  readonly run: () => void;
  /** For calls of a store: applies the call and delays its answer, which becomes another step. */
  readonly hold?: () => void;
  /** For calls of a store: applies the call and answers that the store is unavailable. */
  readonly lose?: () => void;
  /** For calls of a store: answers that the store is unavailable without applying the call. */
  readonly refuse?: () => void;
  /** True after another step was taken instead. */
  late: boolean;
}

/** Requests to the stores in the order of their effect. */
export interface Told {
  /** Leases under which entries were stored. */
  readonly fences: Lease[];
  /** Leases that processes have claimed, or under which they have restarted a turn after an outage. */
  readonly again: Lease[];
}

interface Option {
  readonly name: string;
  readonly step?: Step;
  readonly run: () => void;
}

const writes = new Set(["append", "setLease", "claimLeases"]);

/** Processes that share one store in memory. Each of their calls is a step, and so is the passing of time. */
export class World {
  readonly clock = new Clock();
  readonly told: Told = { fences: [], again: [] };
  /** The store itself, for checks from outside. */
  readonly inside: TaskStore;
  /** The states that appends gave the task. */
  readonly ends: TaskState[] = [];
  /** Names of the steps taken, for the report of a violation. */
  readonly trace: string[] = [];
  /** True while a schedule may deviate. */
  isOpen = false;
  readonly #store: TaskStore;
  readonly #troubles: Set<Trouble>;
  readonly #steps = new Set<Step>();
  readonly #dead = new Set<number>();
  readonly #stopped = new Map<number, number>();
  readonly #members = new Map<string, { readonly process: number; readonly member: Member }>();

  /** @param plant removes a guard of the store */
  constructor(troubles: readonly Trouble[], plant: (store: TaskStore) => TaskStore = (store) => store) {
    this.inside = memoryStore({ shared: true, clock: () => this.clock.now });
    this.#store = plant(this.inside);
    this.#troubles = new Set(troubles);
  }

  isAlive(process: number): boolean {
    return !this.#dead.has(process);
  }

  #runs(process: number): boolean {
    return !this.#dead.has(process) && !this.#stopped.has(process);
  }

  /** True if only timers are pending. */
  get isIdle(): boolean {
    return this.#steps.size === 0 && this.#stopped.size === 0;
  }

  /** Runs code in the name of a process. */
  as<T>(process: number, run: () => T): T {
    this.clock.process = process;
    return run();
  }

  /** A step that an agent or a client takes when the schedule says so. */
  step(process: number, name: string, late = false): Promise<void> {
    return new Promise((resolve) => this.#add({ process, name, run: resolve }, late));
  }

  /** The store as a process sees it. */
  storeOf(process: number): TaskStore {
    const signals = this.#signalsOf(process);
    return new Proxy(this.#store, {
      get: (target, name) => {
        if (name === "signals") return signals;
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function" || name === "onCommit") return value;
        return (...args: unknown[]) => this.#call(process, String(name), args);
      },
    });
  }

  #add(step: Omit<Step, "late">, late = false): void {
    if (!this.#dead.has(step.process)) this.#steps.add({ ...step, late });
  }

  #call(process: number, name: string, args: unknown[]): Promise<unknown> {
    const apply = async (): Promise<unknown> => {
      const method = Reflect.get(this.#store, name) as (...args: unknown[]) => Promise<unknown>;
      const answer = await method.apply(this.#store, args);
      if (name === "append") this.#noteAppend(args[0] as AppendRequest);
      if (name === "claimLeases") this.#noteClaims(answer as TaskHead[]);
      if (name === "setLease" && answer === "set") this.#noteRestart(args[0] as LeaseChange);
      return answer;
    };
    return new Promise((resolve, reject) => {
      const lost = (): void => reject(new StoreError("unavailable", "The store does not answer."));
      const hold = (): void => {
        const answer = apply();
        answer.catch(() => {});
        this.#add({ process, name: `answer of ${name}`, run: () => void answer.then(resolve, reject) });
      };
      const more = writes.has(name) ? { lose: () => void apply().then(lost, lost), refuse: lost } : {};
      this.#add({ process, name, run: () => void apply().then(resolve, reject), hold, ...more });
    });
  }

  #noteAppend({ fence, head }: AppendRequest): void {
    this.ends.push(head.state);
    if (fence !== undefined) this.told.fences.push(fence as Lease);
  }

  #noteClaims(heads: readonly TaskHead[]): void {
    for (const { lease } of heads) if (lease !== null) this.told.again.push(lease);
  }

  #noteRestart({ fence, lease }: LeaseChange): void {
    if (lease !== null && outagesOf(lease) > outagesOf(fence)) this.told.again.push(lease);
  }

  /** Takes steps one by one until `over` returns true or a bound is reached. Returns their number. */
  async run(
    choose: Choose,
    over: () => boolean,
    bounds: { readonly ms: number; readonly steps: number },
  ): Promise<number> {
    for (let steps = 0; ; steps++) {
      await this.clock.settle();
      if (over() || this.clock.now > bounds.ms || steps > bounds.steps) return steps;
      const options = this.#options();
      if (options.length === 0) return steps;
      const index = this.isOpen ? choose(options.length) : 0;
      const taken = options[index];
      for (const { step } of options.slice(0, index)) if (step !== undefined && step !== taken?.step) step.late = true;
      this.trace.push(`${this.clock.now} ${taken?.name}`);
      taken?.run();
    }
  }

  /** Possible next steps in this order: new steps, postponed steps, time, and troubles. */
  #options(): Option[] {
    const { process: last } = this.clock;
    const ready = [...this.#steps].filter(({ process }) => this.#runs(process));
    const order = (step: Step): number => (step.late ? 2 : 0) + (step.process === last ? 0 : 1);
    ready.sort((a, b) => order(a) - order(b));
    const options: Option[] = ready.map((step) => this.#option(step, step.name, step.run));
    const timer = this.clock.next((process) => this.#runs(process));
    const time = timer && { name: `${timer.process} timer`, run: () => this.clock.fire(timer) };
    const [due, early] = this.#resumes(time === undefined);
    options.push(...due, ...(time === undefined ? [] : [time]), ...(this.isOpen ? early : []));
    if (this.isOpen && ready[0] !== undefined) options.push(...this.#wrongs(ready[0]));
    return options;
  }

  /** Stopped processes that may continue: those whose time has come, and those that may continue earlier. */
  #resumes(all: boolean): [due: Option[], early: Option[]] {
    const [due, early]: [Option[], Option[]] = [[], []];
    for (const [process, since] of this.#stopped) {
      const isDue = all || this.clock.now >= since + STOPPED_MS;
      (isDue ? due : early).push({ name: `${process} goes on`, run: () => void this.#stopped.delete(process) });
    }
    return [due, early];
  }

  #option(step: Step, name: string, run: () => void): Option {
    const taken = (): void => {
      this.#steps.delete(step);
      this.clock.process = step.process;
      run();
    };
    return { name: `${step.process} ${name}`, step, run: taken };
  }

  /** Troubles that may occur at a step. */
  #wrongs(step: Step): Option[] {
    const { process, name, hold, lose, refuse } = step;
    const once = (trouble: Trouble, run: () => void): (() => void) => {
      return () => {
        this.#troubles.delete(trouble);
        run();
      };
    };
    const wrongs: Option[] = [];
    const may = (trouble: Trouble): boolean => this.#troubles.has(trouble);
    if (may("hold") && hold) wrongs.push(this.#option(step, `${name} is held`, once("hold", hold)));
    if (may("lose") && lose) wrongs.push(this.#option(step, `${name} loses its answer`, once("lose", lose)));
    if (may("refuse") && refuse) wrongs.push(this.#option(step, `${name} is refused`, once("refuse", refuse)));
    const stop = once("stop", () => this.#stopped.set(process, this.clock.now));
    if (may("stop")) wrongs.push({ name: `${process} stops before ${name}`, run: stop });
    const kill = once("kill", () => {
      this.#dead.add(process);
      for (const each of this.#steps) if (each.process === process) this.#steps.delete(each);
    });
    if (may("kill")) wrongs.push({ name: `${process} dies before ${name}`, run: kill });
    return wrongs;
  }

  /** Signals whose delivery is a step. A postponed hint is late or lost. */
  #signalsOf(process: number): Signals {
    const join = (name: string): SignalMember => {
      const member = new Member();
      this.#members.set(name, { process, member });
      return {
        changed: (taskId) => {
          for (const other of this.#members.values()) {
            if (other.member === member || other.member.hinted.has(taskId)) continue;
            other.member.hinted.add(taskId);
            this.#add({ process: other.process, name: "hint", run: () => other.member.hint() });
          }
        },
        onChanged: (listener) => {
          member.listener = listener;
        },
        publish: () => {},
        subscribe: () => {},
        ask: (to, { name: what }, question, ms) => this.#ask({ process, from: name, to, what, question, ms }) as never,
        answer: ({ name: what }, handler) => void member.handlers.set(what, handler as Handler),
        leave: () => {},
      };
    };
    return { join, close: async () => {} };
  }

  #ask(asked: {
    readonly process: number;
    readonly from: string;
    readonly to: string;
    readonly what: string;
    readonly question: unknown;
    readonly ms: number;
  }): Promise<unknown> {
    const { process, from, to, what, question, ms } = asked;
    return new Promise((resolve) => {
      setTimeout(() => resolve(undefined), ms);
      const other = this.#members.get(to);
      const handler = other?.member.handlers.get(what);
      if (other === undefined || handler === undefined) return;
      const reply = (value: unknown): void =>
        this.#add({ process, name: `reply to ${what}`, run: () => resolve(value) });
      this.#add({ process: other.process, name: what, run: () => void handler(question, from).then(reply) });
    });
  }
}

type Handler = (question: unknown, from: string) => Promise<unknown>;

class Member {
  listener: (taskIds: readonly string[]) => void = () => {};
  /** Tasks whose hints are being delivered. */
  readonly hinted = new Set<string>();
  readonly handlers = new Map<string, Handler>();

  hint(): void {
    const taskIds = [...this.hinted];
    this.hinted.clear();
    if (taskIds.length > 0) this.listener(taskIds);
  }
}
