/** A timer of a process. */
interface Timer {
  readonly process: number;
  readonly every: number | undefined;
  readonly call: () => void;
  at: number;
}

const real = { setImmediate, setTimeout, setInterval, clearTimeout, clearInterval };

/** Replaces the timers and clocks of the whole thread. Time passes only when a timer fires. */
export class Clock {
  now = 0;
  /** The process whose code runs. Timers set now belong to it. */
  process = 0;
  readonly #timers = new Set<Timer>();
  readonly #turns: (() => void)[] = [];
  #restore = (): void => {};

  install(): void {
    const names = ["setImmediate", "setTimeout", "setInterval", "clearTimeout", "clearInterval"] as const;
    const before = names.map((name) => [name, globalThis[name]] as const);
    const dateNow = Date.now;
    const set = (call: (...args: unknown[]) => void, ms = 0, every?: number, args: unknown[] = []): unknown => {
      const { process } = this;
      const timer = { process, every, at: this.now + Math.max(1, ms), call: () => call(...args) };
      this.#timers.add(timer);
      return Object.assign(timer, { unref: () => timer });
    };
    const clear = (timer: unknown): void => void this.#timers.delete(timer as Timer);
    Object.assign(globalThis, {
      setImmediate: (call: (...args: unknown[]) => void, ...args: unknown[]) => this.#turns.push(() => call(...args)),
      setTimeout: (call: () => void, ms?: number, ...args: unknown[]) => set(call, ms, undefined, args),
      setInterval: (call: () => void, ms = 1, ...args: unknown[]) => set(call, ms, ms, args),
      clearTimeout: clear,
      clearInterval: clear,
    });
    // The prototype keeps the real `now`.
    Object.defineProperty(performance, "now", { configurable: true, value: () => this.now });
    Date.now = () => this.now;
    this.#restore = () => {
      Object.assign(globalThis, Object.fromEntries(before));
      Reflect.deleteProperty(performance, "now");
      Date.now = dateNow;
    };
  }

  uninstall(): void {
    this.#restore();
  }

  /** Runs everything that is not a step: promises, and turns of the event loop. */
  async settle(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => real.setImmediate(resolve));
      if (this.#turns.length === 0) return;
      for (const turn of this.#turns.splice(0)) turn();
    }
  }

  /** The next timer of the running processes. */
  next(runs: (process: number) => boolean): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (runs(timer.process) && (first === undefined || timer.at < first.at)) first = timer;
    }
    return first;
  }

  fire(timer: Timer): void {
    this.now = Math.max(this.now, timer.at);
    this.process = timer.process;
    if (timer.every === undefined) this.#timers.delete(timer);
    else timer.at = this.now + timer.every;
    timer.call();
  }
}
