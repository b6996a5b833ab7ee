import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type AgentEvent, completed, inputRequired } from "../../src/agent/event.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { scaled } from "../support/soak.js";
import { merged } from "./merged.js";
import { agentOf } from "./servers.js";

/** An agent that asks its questions after delays. Records the answers. */
function asking(name: string, delays: readonly number[], heard: Map<string, string[]>) {
  return agentOf(name, async function* (turn): AsyncGenerator<AgentEvent> {
    const asked = turn.history.filter(({ role }) => role === 1).length;
    if (asked > 0) {
      const question = `${name} ${asked - 1}`;
      heard.set(question, [...(heard.get(question) ?? []), turn.text]);
    }
    const delay = delays[asked];
    if (delay === undefined) return yield completed(`${name} done`);
    await sleep(delay);
    yield inputRequired(`${name} ${asked}`);
  });
}

/** Delegates to all agents at once. */
const front = (names: readonly string[]) => ({
  ...agentOf("Front", async function* (turn): AsyncGenerator<AgentEvent> {
    const ended: string[] = [];
    yield* merged(
      names.map((name) => turn.delegate(name, "go")),
      ({ text }) => ended.push(text),
    );
    yield completed(ended.toSorted().join(", "));
  }),
  recover: "restart" as const,
});

/** Does the same with a callback for each agent, like tools of models. */
const calling = (names: readonly string[], stored: string[]) => ({
  ...agentOf("Front", async function* (turn): AsyncGenerator<AgentEvent> {
    const run = async (name: string): Promise<string> => {
      const work = turn.delegate(name, "go", { name });
      for (let next = await work.next(); ; next = await work.next()) {
        if (next.done) return next.value.text;
        await turn.emit(next.value);
      }
    };
    const ended = await Promise.all(
      names.map((name) =>
        turn.step(
          name,
          async () => {
            const text = await run(name);
            stored.push(text);
            return text;
          },
          { per: "task" },
        ),
      ),
    );
    yield completed(ended.toSorted().join(", "));
  }),
  recover: "restart" as const,
});

const delays = fc.array(fc.constantFrom(0, 0, 1, 3, 10), { maxLength: 3 });

it.each([
  ["merged", (names: readonly string[]) => front(names)],
  ["in callbacks", calling],
])(
  "each answer reaches the question that it answers, whatever the order, delays and crashes: %s",
  async (_how, make) => {
    const property = fc.asyncProperty(
      fc.array(delays, { minLength: 2, maxLength: 4 }),
      fc.array(fc.boolean(), { minLength: 13, maxLength: 13 }),
      async (agents, crashes) => {
        const heard = new Map<string, string[]>();
        const stored: string[] = [];
        const names = agents.map((_, at) => `agent-${at}`);
        const entries = agents.map((each, at) => [`agent-${at}`, asking(`agent-${at}`, each, heard)] as const);
        await using test = testAgent(make(names, stored), { remoteAgents: Object.fromEntries(entries) });
        let task = await test.send("go");
        const asked: string[] = [];
        while (task.status?.state === TaskState.INPUT_REQUIRED) {
          const question = textOf(task.status.message ?? task);
          asked.push(question);
          if (crashes[asked.length]) await test.crash();
          task = await test.send(`to ${question}`, { task });
        }
        const questions = agents.flatMap((each, at) => each.map((_, nth) => `agent-${at} ${nth}`));
        // Each question is asked once, and those of one agent in order.
        expect(asked.toSorted()).toEqual(questions);
        for (const name of names) {
          const own = asked.filter((question) => question.startsWith(`${name} `));
          expect(own).toEqual(own.toSorted());
        }
        expect(Object.fromEntries(heard)).toEqual(Object.fromEntries(asked.map((each) => [each, [`to ${each}`]])));
        expect(task.status?.state).toBe(TaskState.COMPLETED);
        // A paused delegation has no result.
        expect(stored.filter((text) => !text.endsWith(" done"))).toEqual([]);
        expect(textOf(task.status?.message ?? task)).toBe(names.map((name) => `${name} done`).join(", "));
      },
    );
    await fc.assert(property, { numRuns: scaled(6, 50) });
  },
  240_000,
);
