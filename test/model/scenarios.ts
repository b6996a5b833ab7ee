import { artifact, inputRequired, working } from "../../src/agent/event.js";
import { decodeEntry } from "../../src/task/entry.js";
import type { Scenario, Sim } from "./sim.js";

/** Works, answers with an artifact named after the message, and returns. Each of these is a step. */
function works(sim: Sim, process: number): ReturnType<Scenario["agent"]> {
  return {
    async *execute(turn) {
      sim.hear(process, turn);
      await sim.world.step(process, "agent begins");
      yield working();
      await sim.world.step(process, "agent answers");
      yield artifact({ name: turn.text, text: turn.text });
      await sim.world.step(process, "agent ends");
    },
  };
}

/** Asks in the turn of the first message, and answers in the others. */
function asks(sim: Sim, process: number): ReturnType<Scenario["agent"]> {
  return {
    async *execute(turn) {
      sim.hear(process, turn);
      await sim.world.step(process, "agent begins");
      if (turn.text === "first") {
        sim.asks.add("first");
        return yield inputRequired("?");
      }
      yield artifact({ name: turn.text, text: turn.text });
      await sim.world.step(process, "agent ends");
    },
  };
}

const more = (sim: Sim): Parameters<Sim["send"]>[2] => ({ message: { taskId: sim.taskId } });

/** The scenarios, each about one interaction of processes. */
export const scenarios: readonly Scenario[] = [
  { name: "a turn, and its takeover", troubles: ["stop", "kill", "hold", "lose", "refuse"], agent: works },
  {
    name: "a message that comes to the other process while the turn ends",
    troubles: ["hold"],
    agent: works,
    acts: (sim) => sim.act(1, "client sends second", () => sim.send(1, "second", more(sim))),
  },
  {
    name: "a cancel at the other process",
    troubles: ["hold", "lose"],
    agent: works,
    acts: (sim) => sim.act(1, "client cancels", () => sim.cancel(1)),
  },
  {
    name: "a question, and its answer at the other process",
    troubles: ["hold"],
    agent: asks,
    acts: (sim) => sim.act(1, "client answers", () => sim.send(1, "second", more(sim))),
  },
  {
    name: "a question whose answer waits already",
    troubles: ["hold"],
    agent: asks,
    begin: (sim) => sim.send(1, "second", more(sim)),
  },
  {
    name: "two messages, and their takeover",
    troubles: ["stop", "kill", "lose"],
    agent: works,
    begin: (sim) => sim.send(1, "second", more(sim)),
  },
  {
    name: "a step's result",
    troubles: ["stop", "kill", "lose"],
    agent: (sim, process) => ({
      async *execute(turn) {
        sim.hear(process, turn);
        const result = await turn.step("one", async () => {
          const log = await sim.world.inside.read({ taskId: turn.taskId, after: 0, limit: 100 });
          sim.works.push({ stored: log.map(decodeEntry).some(({ event }) => event.case === "step") });
          await sim.world.step(process, "agent does its step");
          return "done";
        });
        await sim.world.step(process, "agent answers");
        yield artifact({ name: turn.text, text: result });
      },
    }),
  },
  {
    name: "one idempotency key at both processes",
    troubles: ["hold", "lose"],
    agent: works,
    creates: true,
    acts: (sim) => {
      const idempotency = { key: "key", fingerprint: "same" };
      for (const process of [0, 1]) {
        sim.act(process, "client sends", () =>
          sim.send(process, "first", { idempotency, message: { messageId: "m" } }),
        );
      }
    },
  },
];
