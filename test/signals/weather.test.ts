import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import type { A2AError } from "../../src/core/error.js";
import { SignalHub } from "../../src/signals/hub.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { isTerminal } from "../../src/task/state.js";
import { Bench, quick, scope, story, tell } from "../engine/support.js";
import { seeded } from "../support/slow-store.js";
import { type Weather, Wire } from "./wire.js";

/** Shares of the texts that are lost, repeated, late and damaged, each of 100. */
interface Odds {
  readonly lost: number;
  readonly twice: number;
  readonly late: number;
  readonly damaged: number;
  readonly seed: number;
}

const odds: fc.Arbitrary<Odds> = fc.record({
  lost: fc.constantFrom(0, 30, 100),
  twice: fc.constantFrom(0, 50, 100),
  late: fc.constantFrom(0, 50, 100),
  damaged: fc.constantFrom(0, 30),
  seed: fc.integer({ min: 0 }),
});

function weatherOf({ lost, twice, late, damaged, seed }: Odds): Weather {
  const random = seeded(seed);
  const happens = (share: number): boolean => random() * 100 < share;
  return (text) => {
    if (happens(lost)) return [];
    const cut = Math.floor(random() * text.length);
    const arrived = happens(damaged) ? `${text.slice(0, cut)}"${text.slice(cut + 1)}` : text;
    const once = { text: arrived, ms: happens(late) ? 1 + Math.floor(random() * 1_500) : 0 };
    return happens(twice) ? [once, { text: arrived, ms: Math.floor(random() * 300) }] : [once];
  };
}

/** Yields numbers until it is stopped, or five of them. */
const counting: Omit<Agent, "card"> = {
  async *execute({ signal }) {
    yield working();
    for (let number = 1; number <= 5 && !signal.aborted; number++) {
      await sleep(20);
      yield artifact({ text: `${number}` });
    }
    if (!signal.aborted) yield completed();
  },
};

describe("whatever happens to signals", () => {
  it("each event reaches each follower once and in order, and each cancel and message counts", async () => {
    await fc.assert(
      fc.asyncProperty(odds, async (given) => {
        const wire = new Wire(weatherOf(given));
        const store = memoryStore({ shared: true });
        const benches = [0, 1].map(() => {
          const signals = new SignalHub(wire.carrier());
          return new Bench(counting, { signals, leaseMs: 60_000, limits: { ...quick, cancelGraceMs: 200 } }, store);
        });
        const [one, two] = benches as [Bench, Bench];
        await Promise.all(benches.map(({ engine }) => engine.start()));
        const each = Array.from({ length: 12 }, async (_, index) => {
          const [here, there] = index % 2 === 0 ? [one, two] : [two, one];
          const held = await here.send("go");
          const shown = story(held);
          const followed = await there.engine.open(scope, held.taskId);
          const seen: string[] = [];
          const from = followed.now();
          const reading = (async () => {
            for await (const event of followed.events(from, neverCanceled)) seen.push(tell(event));
          })();
          if (index % 3 === 0) {
            await sleep(index * 5);
            // The agent may have ended the task before the cancel counted.
            const canceled = await there.engine.cancel(scope, held.taskId).catch(({ reason }: A2AError) => reason);
            const isEnded = typeof canceled === "object" && isTerminal(canceled.task.status?.state ?? 0);
            expect(isEnded || canceled === "TASK_NOT_CANCELABLE").toBe(true);
          } else if (index % 3 === 1) await there.send("more", { message: { taskId: held.taskId } }).catch(() => {});
          await reading;
          const all = await shown;
          // The follower began later, and saw everything from there on.
          expect(all.slice(all.length - seen.length)).toEqual(seen);
          expect(all.length - seen.length).toBeLessThanOrEqual(from.generation);
          const stored = await there.engine.get(scope, held.taskId);
          expect(isTerminal(stored.task.status?.state ?? 0)).toBe(true);
        });
        await Promise.all(each);
        await Promise.all(benches.map(({ engine }) => engine.drain(0)));
      }),
      { numRuns: 4, examples: [[{ lost: 100, twice: 0, late: 0, damaged: 0, seed: 0 }]] },
    );
  }, 120_000);
});
