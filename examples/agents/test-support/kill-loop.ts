import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { build } from "../../../test/e2e/support/build.js";
import { scaled } from "../../../test/support/soak.js";
import type { Rule } from "../offline-model/rules.js";
import { type OfflineModel, startOfflineModel } from "../offline-model/server.js";
import { type Conversation, converse, isModelStep, type Moment, type StoredStep } from "./killed-conversation.js";
import { bundled, type Program } from "./killed-program.js";

/** A conversation that must come to the same end, however often the agent's process is killed. */
export interface KillTest {
  /** URL of the agent's module. */
  readonly module: string;
  readonly rules: readonly Rule[];
  /** Messages of the user. An answer goes to the task that asked; any other message begins a new task. */
  readonly says: readonly string[];
}

/** The seed of the moments; `KILL_SEED` repeats those of a failure. */
const seed = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000);

/** Number of conversations in which the test kills processes. */
const rounds = Number(process.env.KILL_ROUNDS ?? scaled(2, 20));

/** Has a conversation with processes that are killed with SIGKILL between any two events and steps. */
export function describeKills({ module, rules, says }: KillTest): void {
  describe("an agent whose process is killed with SIGKILL", () => {
    let model: OfflineModel;
    let program: Program;
    let expected: Conversation;

    beforeAll(async () => {
      build();
      program = await bundled(module);
      model = await startOfflineModel({ rules });
      expected = await converse({ program, says, model, moments: [] });
    });
    afterAll(async () => {
      await model?.close();
      program?.remove();
    });

    /**
     * Has the conversation with kills. Events that come while an append is under way share the next one, so that it may
     * end before the first moment: then it is repeated with an earlier one.
     */
    async function killed([first, ...more]: readonly [Moment, ...Moment[]]): Promise<Conversation> {
      const conversation = await converse({ program, says, model, moments: [first, ...more] });
      if (conversation.kills.length > 0 || first.count === 1) return conversation;
      return killed([{ ...first, count: Math.ceil(first.count / 2) }, ...more]);
    }

    it("stores every answer of the model as a step", () => {
      expect(expected.kills).toEqual([]);
      expect(expected.requests).toBeGreaterThan(0);
      expect(expected.steps.filter(isModelStep).length).toBe(expected.requests);
    });

    it.each(Array.from({ length: rounds }, (_, round) => round))(
      "ends as if nothing had happened, %i",
      async (round) => {
        const { kills, ...conversation } = await killed(momentsOf(seed + round, expected.appends));
        const about = `KILL_SEED=${seed + round}: killed ${JSON.stringify(kills)}`;
        expect(kills.length, about).toBeGreaterThan(0);
        expect(conversation.tasks, about).toEqual(expected.tasks);
        // No step has run again after its result was stored, and no stored answer of the model was asked for again.
        expect(conversation.steps.map(nameOf).toSorted(), about).toEqual(expected.steps.map(nameOf).toSorted());
        const last = kills.at(-1);
        expect(conversation.requests - (last?.asked ?? 0), about).toBe(expected.requests - (last?.answered ?? 0));
      },
    );
  });
}

const nameOf = ({ task, name, turn, call }: StoredStep): string => `${task}: ${turn} ${call} ${name}`;

/**
 * Returns the moments at which the processes of a conversation are killed: the first one goes through all writes of
 * the conversation from round to round, before and after each. A turn is restarted at most three times.
 */
function momentsOf(number: number, appends: number): [Moment, ...Moment[]] {
  const random = randomOf(number);
  const first: Moment = { when: number % 2 === 0 ? "before" : "after", count: 1 + (Math.floor(number / 2) % appends) };
  const more = Array.from({ length: Math.floor(random() * 3) }, (): Moment => {
    return { when: random() < 0.5 ? "before" : "after", count: 1 + Math.floor(random() * appends) };
  });
  return [first, ...more];
}

/** Returns a generator of numbers from 0 to 1 (mulberry32). */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
