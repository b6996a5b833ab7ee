import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { TurnAborter } from "../../src/agent/abort.js";
import { AgentError, StepError, StepOrderError, TurnPaused } from "../../src/agent/errors.js";
import { type EndedStep, type StepJournal, type StepOutcome, TurnSteps } from "../../src/agent/steps.js";
import { type StepRecord, StepRecords } from "../../src/task/step-records.js";

/** A log that holds only steps. Its process can lose access to it. */
class Journal implements StepJournal {
  readonly steps: (EndedStep & { readonly turn: number })[] = [];
  readonly #records = new StepRecords();
  open = true;

  mayStore(): boolean {
    return this.open;
  }

  stored(turn: number): readonly StepRecord[] {
    return this.#records.of(turn);
  }

  now(): number {
    return Date.now();
  }

  reusedChanges(): number {
    return 0;
  }

  async read(position: number): Promise<StepOutcome> {
    return this.steps[position - 1]!.outcome;
  }

  async append(turn: number, step: EndedStep): Promise<void> {
    this.steps.push({ ...step, turn });
    const { name, count, call, perTask, overlaps } = step;
    this.#records.add(this.steps.length, { name, count, call, perTask, overlaps, turn });
  }
}

/** A run of a turn, with the steps that earlier runs have stored. */
function run(journal: StepJournal | undefined, turn = 1): { steps: TurnSteps; aborter: TurnAborter } {
  const aborter = new TurnAborter();
  return { steps: new TurnSteps({ position: turn, aborter }, journal), aborter };
}

/** Two runs of a turn, one after the other. */
function* twice(journal: Journal): Generator<TurnSteps> {
  yield run(journal).steps;
  yield run(journal).steps;
}

const never = new Promise<never>(() => {});

describe("TurnSteps.run()", () => {
  it("returns the stored result when the turn runs again, and does not work again", async () => {
    const journal = new Journal();
    const work = vi.fn(async () => ({ cities: ["Rome"], at: -0, gone: undefined }));
    const first = await run(journal).steps.run("plan", work);
    const again = await run(journal).steps.run("plan", work);
    expect(work).toHaveBeenCalledTimes(1);
    expect(first).toStrictEqual({ cities: ["Rome"], at: 0 });
    expect(again).toStrictEqual(first);
  });

  it("gives the program a copy that it may change", async () => {
    const journal = new Journal();
    const value = { list: [1] };
    const first = await run(journal).steps.run("plan", () => value);
    first.list.push(2);
    expect(value).toEqual({ list: [1] });
    expect(await run(journal).steps.run("plan", () => value)).toEqual({ list: [1] });
  });

  it("stores the result before it resolves", async () => {
    const journal = new Journal();
    journal.append = () => never;
    const result = run(journal).steps.run("plan", () => 1);
    expect(await Promise.race([result, new Promise((resolve) => setTimeout(resolve, 20, "waits"))])).toBe("waits");
  });

  it.each([
    [null, "null"],
    [5, "a value of type number"],
    ["task", "a text"],
    [[], "a list"],
  ])("refuses options that are no object: %j", async (options, shown) => {
    const work = vi.fn();
    await expect(run(new Journal()).steps.run("plan", work, options as never)).rejects.toThrow(
      new TypeError(`turn.step(name, fn, options): the options are ${shown}, not an object.`),
    );
    expect(work).not.toHaveBeenCalled();
  });

  it("keeps results of undefined", async () => {
    const journal = new Journal();
    const work = vi.fn(async () => {});
    expect(await run(journal).steps.run("mail", work)).toBeUndefined();
    expect(await run(journal).steps.run("mail", work)).toBeUndefined();
    expect(work).toHaveBeenCalledTimes(1);
  });

  it("counts a name that is used again", async () => {
    const journal = new Journal();
    const searched = async ({ steps }: { steps: TurnSteps }, from: number): Promise<number[]> => {
      const results: number[] = [];
      for (let i = 0; i < 3; i++) results.push(await steps.run("search", () => from + i));
      return results;
    };
    expect(await searched(run(journal), 10)).toEqual([10, 11, 12]);
    expect(await searched(run(journal), 20)).toEqual([10, 11, 12]);
  });

  it("repeats a step per turn in a later turn, and one per task in none", async () => {
    const journal = new Journal();
    const results: unknown[] = [];
    for (const turn of [1, 5]) {
      const { steps } = run(journal, turn);
      results.push(await steps.run("once", () => turn, { per: "task" }));
      results.push(await steps.run("plan", () => turn));
      results.push(await steps.run("once", () => turn + 0.5, { per: "task" }));
    }
    expect(results).toEqual([1, 1, 1.5, 1, 5, 1.5]);
  });

  it("throws a stored error again: an AgentError as one, any other as a StepError", async () => {
    const journal = new Journal();
    const failing = async (error: unknown, name: string): Promise<Error> => {
      const { steps } = run(journal, journal.steps.length === 0 ? 1 : journal.steps[0]?.turn);
      return steps
        .run(name, () => {
          throw error;
        })
        .catch((thrown: Error) => thrown) as Promise<Error>;
    };
    const cause = new RangeError("too far");
    const first = await failing(cause, "fly");
    expect(first).toBeInstanceOf(StepError);
    expect([first.message, first.cause]).toEqual(['The step "fly" failed: too far', cause]);
    const again = await failing(new Error("another"), "fly");
    expect(again).toBeInstanceOf(StepError);
    expect([again.message, again.cause, (again as StepError).step]).toEqual([first.message, undefined, "fly"]);

    const other = new Journal();
    const refuse = (): never => {
      throw new AgentError("no seats");
    };
    for (const steps of twice(other)) {
      const thrown = await steps.run("fly", refuse).catch((error: Error) => error);
      expect(thrown).toBeInstanceOf(AgentError);
      expect(String(thrown)).toBe("AgentError: no seats");
    }
    expect(other.steps).toHaveLength(1);
  });

  it.each([
    null,
    undefined,
    "text",
    7,
    { message: 1 },
    new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    ),
  ])("keeps whatever is thrown (%#)", async (thrown) => {
    const journal = new Journal();
    const work = (): never => {
      throw thrown;
    };
    const texts: string[] = [];
    for (const steps of twice(journal)) await steps.run("x", work).catch((e) => texts.push(String(e)));
    expect(texts[0]).toMatch(/^StepError: The step "x" failed: /);
    expect(texts[1]).toBe(texts[0]);
  });

  it("tries again as often as it is told, and stores the number of attempts", async () => {
    const journal = new Journal();
    let tries = 0;
    const work = (): string => {
      if (++tries < 3) throw new Error("busy");
      return "done";
    };
    expect(await run(journal).steps.run("call", work, { retries: 2, backoffMs: 1 })).toBe("done");
    expect(journal.steps).toMatchObject([{ attempts: 3, outcome: { json: '"done"' } }]);
    tries = -100;
    await expect(run(new Journal()).steps.run("call", work, { retries: 2, backoffMs: 0 })).rejects.toThrow("busy");
    expect(tries).toBe(-97);
  });

  it("doubles the pause before each retry", async () => {
    vi.useFakeTimers();
    try {
      const at: number[] = [];
      const begin = Date.now();
      const failed = run(new Journal()).steps.run(
        "call",
        () => {
          at.push(Date.now() - begin);
          throw new Error("busy");
        },
        { retries: 8 },
      );
      failed.catch(() => {});
      await vi.runAllTimersAsync();
      expect(at).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183].map((seconds) => seconds * 1_000));
    } finally {
      vi.useRealTimers();
    }
  });

  it("fires the signal of an attempt at its timeout, and fails it even if it goes on", async () => {
    const journal = new Journal();
    const signals: AbortSignal[] = [];
    const work = (signal: AbortSignal): Promise<never> => {
      signals.push(signal);
      return never;
    };
    const failed = run(journal).steps.run("slow", work, { timeoutMs: 5, retries: 1, backoffMs: 0 });
    await expect(failed).rejects.toThrow('The step "slow" failed: it took longer than 5 ms');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(journal.steps).toMatchObject([{ attempts: 2 }]);
  });

  it.each([undefined, 60_000])("stores nothing of work that the turn's signal ends (timeout %s)", async (timeoutMs) => {
    const journal = new Journal();
    const { steps, aborter } = run(journal);
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    const work = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
    const failed = steps.run("long", work, { retries: 3, ...options });
    await new Promise((resolve) => setTimeout(resolve, 5));
    aborter.abort("canceled");
    await expect(failed).rejects.toMatchObject({ name: "AbortReason", cause: "canceled" });
    await expect(steps.run("next", () => 1)).rejects.toMatchObject({ cause: "canceled" });
    expect(journal.steps).toEqual([]);
  });

  it("stores a result that comes in spite of the signal, and gives stored ones after it", async () => {
    const journal = new Journal();
    const { steps, aborter } = run(journal);
    const result = steps.run("sent", async () => {
      aborter.abort("shutdown");
      return "yes";
    });
    expect(await result).toBe("yes");
    const later = run(journal);
    later.aborter.abort("canceled");
    expect(await later.steps.run("sent", () => "again")).toBe("yes");
  });

  it("ends the pause before a retry when the signal fires", async () => {
    const { steps, aborter } = run(new Journal());
    const failed = steps.run("call", () => Promise.reject(new Error("busy")), { retries: 9, backoffMs: 60_000 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    aborter.abort("canceled");
    await expect(failed).rejects.toMatchObject({ cause: "canceled" });
  });

  it("passes the pause of a turn on, and stores nothing of it", async () => {
    const journal = new Journal();
    await expect(run(journal).steps.run("ask", () => Promise.reject(new TurnPaused()))).rejects.toThrow(TurnPaused);
    expect(journal.steps).toEqual([]);
  });

  it("does not work after the end of the turn", async () => {
    const journal = new Journal();
    const work = vi.fn();
    journal.open = false;
    await expect(run(journal).steps.run("late", work)).rejects.toThrow("The turn is over");
    expect(work).not.toHaveBeenCalled();
  });

  it("keeps the results of a turn without a task, and stores them with it", async () => {
    const journal = new Journal();
    const { steps } = run(undefined);
    expect(await steps.run("route", () => "task")).toBe("task");
    expect(journal.steps).toEqual([]);
    steps.storeIn(journal);
    expect(await steps.run("plan", () => 1)).toBe(1);
    expect(journal.steps.map(({ name, call }) => [name, call])).toEqual([
      ["route", 1],
      ["plan", 2],
    ]);
  });

  it("does not end the process by an error that nobody waits for", async () => {
    void run(new Journal()).steps.run("x", () => Promise.reject(new Error("lost")));
    await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it.each<[unknown, string]>([
    [new Date(0), "it is a value of Date"],
    [{ list: [1, new Map()] }, ".list[1] is a value of Map"],
    [{ n: Number.NaN }, ".n is NaN"],
    [[undefined], "[0] is undefined"],
    [{ f: () => 1 }, ".f is a function"],
    [1n, "it is a bigint"],
    [new Uint8Array(1), "it is a value of Uint8Array"],
  ])("refuses a result that is not JSON, and stores nothing (%#)", async (value, why) => {
    const journal = new Journal();
    await expect(run(journal).steps.run("x", () => value)).rejects.toThrow(
      `The result of the step "x" is kept as JSON, but ${why}`,
    );
    expect(journal.steps).toEqual([]);
  });

  it("refuses a result that contains itself, or that is larger than 1 MiB", async () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    await expect(run(new Journal()).steps.run("x", () => loop)).rejects.toThrow("nested more than 100 levels deep");
    const text = "é".repeat(524_287);
    expect(await run(new Journal()).steps.run("x", () => text)).toBe(text);
    await expect(run(new Journal()).steps.run("x", () => `${text}1`)).rejects.toThrow("1048577 bytes");
  });

  it("keeps a member of any name", async () => {
    const journal = new Journal();
    const value = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as object;
    for (const steps of twice(journal)) {
      expect(JSON.stringify(await steps.run("x", () => value))).toBe('{"__proto__":{"a":1},"constructor":2}');
    }
  });

  it("refuses a call that it does not understand", async () => {
    const { steps } = run(new Journal());
    const call = steps.run.bind(steps) as (...args: unknown[]) => Promise<unknown>;
    await expect(call("", () => 1)).rejects.toThrow("name is");
    await expect(call("x".repeat(65_537), () => 1)).rejects.toThrow("at most 65536 characters");
    await expect(call("x")).rejects.toThrow("fn is");
    await expect(call("x", () => 1, { per: "context" })).rejects.toThrow('per is "context"');
    await expect(call("x", () => 1, { retries: -1 })).rejects.toThrow("retries is -1");
    await expect(call("x", () => 1, { timeout: 1 })).rejects.toThrow("timeout");
  });

  it("refuses a second step of a name while the first one runs", async () => {
    const { steps } = run(new Journal());
    void steps.run("x", () => never);
    await expect(steps.run("x", () => 1)).rejects.toThrow('The step "x" is running');
  });
});

describe("a turn that runs again", () => {
  const program = async (journal: Journal, names: readonly string[]): Promise<unknown[]> => {
    const { steps } = run(journal);
    const results: unknown[] = [];
    for (const name of names) {
      results.push(await steps.run(name.replace("!", ""), () => name, name.endsWith("!") ? { per: "task" } : {}));
    }
    return results;
  };

  it.each([
    [["a", "b"], ["b", "a"], '"b" as number 1; an earlier run of it had "a" as number 1'],
    [["a", "b"], ["b"], '"b" as number 1; an earlier run of it had "a"'],
    [["a", "b"], ["x", "a", "b"], '"x" as number 1; an earlier run of it had "a"'],
    [["a", "b"], ["a", "x", "b"], '"x" as number 2; an earlier run of it had "b"'],
    [["a", "a", "b"], ["a", "b"], '"b" as number 2; an earlier run of it had "a" (number 2) as number 2'],
    [["a!", "b"], ["a", "b"], '"a" as number 1; an earlier run of it had "a"'],
  ])("gets no result where a changed program asks for %s as %s", async (before, after, text) => {
    const journal = new Journal();
    await program(journal, before);
    const failed = program(journal, after);
    await expect(failed).rejects.toThrow(text);
    await expect(failed).rejects.toBeInstanceOf(StepOrderError);
  });

  it("may go on with further steps", async () => {
    const journal = new Journal();
    await program(journal, ["a", "b"]);
    expect(await program(journal, ["a", "b", "c"])).toEqual(["a", "b", "c"]);
  });

  it("may ask for steps that ran at the same time in another order", async () => {
    const journal = new Journal();
    const both = ({ steps }: { steps: TurnSteps }, names: readonly string[]): Promise<string[]> =>
      Promise.all(names.map((name) => steps.run(name, async () => name)));
    expect(await both(run(journal), ["a", "b", "c"])).toEqual(["a", "b", "c"]);
    const again = run(journal);
    expect(await again.steps.run("c", () => "new")).toBe("c");
    expect(await again.steps.run("a", () => "new")).toBe("a");
    expect(await again.steps.run("b", () => "new")).toBe("b");
  });

  it("leaves out the steps inside a step that is stored", async () => {
    const journal = new Journal();
    const nested = async ({ steps }: { steps: TurnSteps }): Promise<unknown[]> => [
      await steps.run("outer", () => steps.run("inner", () => 1)),
      await steps.run("next", () => 2),
    ];
    expect(await nested(run(journal))).toEqual([1, 2]);
    expect(await nested(run(journal))).toEqual([1, 2]);
    expect(journal.steps).toHaveLength(3);
  });
});

interface DrawnStep {
  readonly name: string;
  readonly perTask: boolean;
  /** Number of failures before the step succeeds. */
  readonly errors: number;
  readonly retries: number;
}

const drawnStep = (names: readonly string[]): fc.Arbitrary<DrawnStep> =>
  fc.record({
    name: fc.constantFrom(...names),
    perTask: fc.boolean(),
    errors: fc.nat({ max: 2 }),
    retries: fc.nat({ max: 2 }),
  });

/** Steps one after the other, each of them a group that runs at the same time. */
type DrawnProgram = readonly (readonly DrawnStep[])[];

const drawnProgram: fc.Arbitrary<DrawnProgram> = fc.array(
  fc.oneof(
    drawnStep(["a", "b"]).map((step) => [step]),
    fc.uniqueArray(drawnStep(["p", "q", "r"]), { selector: ({ name }) => name, minLength: 2, maxLength: 3 }),
  ),
  { maxLength: 6 },
);

/** An early end of a run: the process dies or the turn is canceled at a drawn moment. */
const drawnEnd = fc.record({ at: fc.nat({ max: 20 }), how: fc.constantFrom("die", "shutdown") });

describe("steps under crashes, retries and cancels", () => {
  it("never run again after their result is stored, and never get another step's result", async () => {
    await fc.assert(
      fc.asyncProperty(drawnProgram, fc.array(drawnEnd, { maxLength: 6 }), async (program, ends) => {
        const journal = new Journal();
        const known = new Set<string>();
        let runs = 0;
        for (const turn of [1, 7]) {
          for (let isOver = false; !isOver; )
            isOver = await runOnce(program, journal, { turn, end: ends[runs++], known });
        }
      }),
    );
  });
});

interface DrawnRun {
  readonly turn: number;
  readonly end: { readonly at: number; readonly how: string } | undefined;
  /** The identities of stored steps. */
  readonly known: Set<string>;
}

/** A process that dies or shuts down at a drawn moment. A dead process does nothing more. */
class DrawnProcess {
  readonly aborter = new TurnAborter();
  readonly died: Promise<"dead">;
  #isDead = false;
  #left: number;
  readonly #end: DrawnRun["end"];
  #die: () => void = () => {};

  constructor(end: DrawnRun["end"]) {
    this.#end = end;
    this.#left = end?.at ?? Number.POSITIVE_INFINITY;
    this.died = new Promise((resolve) => {
      this.#die = () => resolve("dead");
    });
  }

  /** An action that takes a moment. The process may end during it. */
  async moment(): Promise<void> {
    if (this.#left-- === 0) {
      if (this.#end?.how === "shutdown") this.aborter.abort("shutdown");
      else {
        this.#isDead = true;
        this.#die();
      }
    }
    await this.alive();
    await Promise.resolve();
    await this.alive();
  }

  alive(): Promise<void> | undefined {
    return this.#isDead ? never : undefined;
  }

  /** A journal whose appends never end after the process has died. */
  journal(journal: Journal): StepJournal {
    return {
      mayStore: () => true,
      now: () => journal.now(),
      reusedChanges: () => 0,
      stored: (turn) => journal.stored(turn),
      read: (position) => journal.read(position),
      append: async (turn, step) => {
        await this.moment();
        if (this.#isDead) await never;
        await journal.append(turn, step);
        await this.moment();
      },
    };
  }
}

/** Runs a program until it ends or is interrupted. @returns true if it ended */
async function runOnce(program: DrawnProgram, journal: Journal, { turn, end, known }: DrawnRun): Promise<boolean> {
  const process = new DrawnProcess(end);
  const { aborter } = process;
  const steps = new TurnSteps({ position: turn, aborter }, process.journal(journal));
  const counts = new Map<string, number>();
  const one = async ({ name, perTask, errors, retries }: DrawnStep): Promise<void> => {
    const counted = `${perTask} ${name}`;
    const count = (counts.get(counted) ?? 0) + 1;
    counts.set(counted, count);
    const identity = `${perTask ? "task" : turn} ${name} ${count}`;
    let tries = 0;
    const work = async (): Promise<string> => {
      await process.moment();
      expect(known.has(identity), identity).toBe(false);
      if (tries++ < errors) throw new Error(identity);
      return identity;
    };
    const options = { per: perTask ? ("task" as const) : ("turn" as const), retries, backoffMs: 0 };
    const outcome = await steps.run(name, work, options).catch((error: unknown) => error);
    await process.alive();
    if (outcome === aborter.reason && !known.has(identity)) throw outcome;
    const shown = outcome instanceof Error ? outcome.message : outcome;
    expect(shown).toBe(errors > retries ? `The step "${name}" failed: ${identity}` : identity);
    known.add(identity);
  };
  const whole = async (): Promise<"done" | "aborted"> => {
    for (const group of program) {
      const ended = await Promise.allSettled(group.map(one));
      const failed = ended.find((each) => each.status === "rejected");
      if (failed === undefined) continue;
      if (failed.reason === aborter.reason) return "aborted";
      throw failed.reason;
    }
    return "done";
  };
  const ended = await Promise.race([whole(), process.died]);
  // Steps stored when the process died count, although the program did not get their results.
  for (const { name, count, perTask, turn: at } of journal.steps) {
    known.add(`${perTask ? "task" : at} ${name} ${count}`);
  }
  return ended === "done";
}
