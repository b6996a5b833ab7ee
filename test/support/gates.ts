interface Gate {
  readonly reached: Promise<void>;
  readonly opened: Promise<void>;
  reach(): void;
  open(): void;
}

/**
 * Gates hold agents of tests back until a test lets them go on, so that nothing has to wait for the clock. They are
 * known by names that a test makes up.
 */
export class Gates {
  readonly #gates = new Map<string, Gate>();

  /** For the agent: says that it is here, then waits until the gate is open or the signal fires. */
  async pass(name: string, signal?: AbortSignal): Promise<void> {
    const gate = this.#gate(name);
    gate.reach();
    if (signal?.aborted) return;
    await Promise.race([gate.opened, ...(signal === undefined ? [] : [fired(signal)])]);
  }

  /** For the test: resolves when an agent is or was at the gate. */
  reached(name: string): Promise<void> {
    return this.#gate(name).reached;
  }

  /** For the test: opens the gate for agents that are or will be there. */
  open(name: string): void {
    this.#gate(name).open();
  }

  #gate(name: string): Gate {
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      let reach = (): void => {};
      let open = (): void => {};
      const reached = new Promise<void>((resolve) => {
        reach = resolve;
      });
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      gate = { reached, opened, reach, open };
      this.#gates.set(name, gate);
    }
    return gate;
  }
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
