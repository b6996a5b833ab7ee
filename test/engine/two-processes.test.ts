import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import { A2AError } from "../../src/core/error.js";
import { silentLogger } from "../../src/core/log.js";
import type { TaskHandle } from "../../src/engine/read/task-handle.js";
import { waitingTurns } from "../../src/engine/send/acceptance.js";
import { StoreError, type TaskStore } from "../../src/store/task-store.js";
import { decodeEntry } from "../../src/task/entry.js";
import { setConstants } from "../support/constants.js";
import { scaled } from "../support/soak.js";
import { isSlow, openShared } from "./stores.js";
import { Bench, gate, quick, scope, settle, tell } from "./support.js";
import { withMethods } from "./wrapped-stores.js";

vi.setConfig({ testTimeout: 60_000 });

/** Two engines with shared tasks, as in two processes. */
async function twoProcesses(
  agent: Omit<Agent, "card">,
  options: ConstructorParameters<typeof Bench>[1] = {},
  stores: readonly TaskStore[] = openShared(),
) {
  const [one, two] = stores.map((store: TaskStore) => new Bench(agent, { leaseMs: 600, ...options }, store));
  if (one === undefined || two === undefined) missing();
  await Promise.all([one.engine.start(), two.engine.start()]);
  return { one, two, end: () => Promise.all([one.engine.drain(0), two.engine.drain(0)]) };
}

/** The state that an entry gives its task, if any. */
function stateOf(bytes: Uint8Array): TaskState | undefined {
  const { event } = decodeEntry(bytes);
  return event.case === "status" ? event.value.status?.state : undefined;
}

/** The events of a task from now on. */
async function storyFrom(handle: TaskHandle): Promise<string[]> {
  const told: string[] = [];
  for await (const event of handle.events(handle.now(), neverCanceled)) told.push(tell(event));
  return told;
}

function missing(): never {
  throw new Error("two are needed");
}

/** The texts of clients in a task, in the order of the log. */
async function saidTo(bench: Bench, taskId: string): Promise<unknown[]> {
  const { history } = (await bench.engine.get(scope, taskId)).task;
  return history.filter(({ role }) => role === Role.USER).map(({ parts }) => parts[0]?.content.value);
}

describe("a message that one process accepts for a task of the other", () => {
  it("has its turn, though the agent returns in that moment", async () => {
    const stores = openShared();
    const rounds = isSlow ? scaled(2, 5) : 5;
    for (let round = 0; round < rounds; round++) {
      const [go, at] = [gate(), gate()];
      const seen: string[] = [];
      const agent: Omit<Agent, "card"> = {
        async *execute(turn) {
          seen.push(turn.text);
          if (turn.text !== "first") return;
          yield working();
          at.open();
          await go.opened;
        },
      };
      const { one, two, end } = await twoProcesses(agent, {}, stores);
      const held = await one.send("first");
      const { id: taskId } = held.accepted!.task;
      await at.opened;
      const accepted = await two.send("second", { message: { taskId } });
      go.open();
      expect(await settle(held)).toBe("COMPLETED");
      expect(seen).toEqual(["first", "second"]);
      expect(await settle(accepted)).toBe("COMPLETED");
      await end();
    }
  });

  it("does not keep an agent from ending the task itself", async () => {
    const go = gate();
    const { one, two, end } = await twoProcesses({
      async *execute() {
        yield working();
        await go.opened;
        yield completed();
      },
    });
    const held = await one.send("first");
    const { id: taskId } = held.accepted!.task;
    await two.send("second", { message: { taskId } });
    go.open();
    expect(await settle(held)).toBe("COMPLETED");
    await end();
  });

  it("keeps the streams of the other open until its turn ends, though its lease is read late", async () => {
    const [one = missing(), two = missing()] = openShared();
    const head = two.head.bind(two);
    vi.spyOn(two, "head").mockImplementation((request) => sleep(50).then(() => head(request)));
    const go = gate();
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        if (turn.text === "first") return yield inputRequired("Which?");
        await go.opened;
        yield artifact({ name: "answer", text: turn.text });
      },
    };
    const processes = await twoProcesses(agent, {}, [one, two]);
    const held = await processes.one.send("first");
    expect(await settle(held)).toBe("INPUT_REQUIRED");
    const followed = storyFrom(await processes.two.engine.open(scope, held.taskId));
    const answered = await processes.one.send("second", { message: { taskId: held.taskId } });
    // Time for the other process, which reads new entries once a second.
    await Promise.race([sleep(1_500), followed]);
    go.open();
    expect(await settle(answered)).toBe("COMPLETED");
    expect(await followed).toEqual(["WORKING", "artifact second", "COMPLETED"]);
    await processes.end();
  });

  it("is answered by its own turn, not by the pause of the one before", async () => {
    const go = gate();
    const { one, two, end } = await twoProcesses({
      async *execute(turn) {
        if (turn.text === "first") {
          yield working();
          await go.opened;
          yield inputRequired("More?");
        } else yield artifact({ name: "answer", text: turn.text });
      },
    });
    const held = await one.send("first");
    const { id: taskId } = held.accepted!.task;
    const second = await two.send("second", { message: { taskId } });
    go.open();
    expect(await settle(second)).toBe("COMPLETED");
    expect(second.now().task.artifacts.map(({ name }) => name)).toEqual(["answer"]);
    await end();
  });
});

describe("a task that ends while another process reads it", () => {
  it("does not answer a message with the pause of the turn before", async () => {
    const [one = missing(), two = missing()] = openShared();
    const [go, end] = [gate(), gate()];
    let isPaused = false;
    // The first process ends the task after the second one has read the entries and before it reads the head.
    const late = new Proxy(two, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name === "read") {
          return async (request: Parameters<TaskStore["read"]>[0]) => {
            const entries = await target.read(request);
            isPaused ||= entries.some((bytes) => stateOf(bytes) === TaskState.INPUT_REQUIRED);
            return entries;
          };
        }
        if (name !== "head") return typeof value === "function" ? value.bind(target) : value;
        return async (request: Parameters<TaskStore["head"]>[0]) => {
          if (isPaused) {
            end.open();
            await expect.poll(async () => (await target.head(request))?.state).toBe(TaskState.COMPLETED);
          }
          return target.head(request);
        };
      },
    });
    const processes = await twoProcesses(
      {
        async *execute(turn) {
          if (turn.text === "first") {
            yield working();
            await go.opened;
            return yield inputRequired("More?");
          }
          await end.opened;
          yield artifact({ name: "answer", text: turn.text });
        },
      },
      {},
      [one, late],
    );
    const held = await processes.one.send("first");
    const { id: taskId } = held.accepted!.task;
    const second = await processes.two.send("second", { message: { taskId } });
    go.open();
    expect(await settle(second)).toBe("COMPLETED");
    expect(isPaused).toBe(true);
    await processes.end();
  });
});

describe("messages that come to both processes at once", () => {
  it("each have one turn, on a task that waits for its client", async () => {
    const stores = openShared();
    for (let round = 0; round < 5; round++) {
      const seen: string[] = [];
      const agent: Omit<Agent, "card"> = {
        async *execute(turn) {
          seen.push(turn.text);
          yield inputRequired(`seen ${turn.text}`);
        },
      };
      // A process without CPU time for a whole lease rightly loses its turn, which then runs again.
      const { one, two, end } = await twoProcesses(agent, { leaseMs: 10_000 }, stores);
      const held = await one.send("first");
      expect(await settle(held)).toBe("INPUT_REQUIRED");
      const { id: taskId } = held.accepted!.task;
      const texts = ["a", "b", "c"];
      const tasks = await Promise.all(
        texts.map((text, index) => (index % 2 === 0 ? one : two).send(text, { message: { taskId } })),
      );
      for (const task of tasks) expect(await settle(task)).toBe("INPUT_REQUIRED");
      expect([...seen].sort()).toEqual(["a", "b", "c", "first"]);
      expect(seen).toEqual(await saidTo(one, taskId));
      await end();
    }
  });

  it("are refused beyond the limit of those that wait", async () => {
    const go = gate();
    setConstants(waitingTurns, { max: 5 });
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        yield working(turn.text);
        await go.opened;
      },
    };
    const { one, two, end } = await twoProcesses(agent);
    const held = await one.send("first");
    const { id: taskId } = held.accepted!.task;
    await held.whenPast(1, neverCanceled, 5_000);
    const sends = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? one : two).send(`${i}`, { message: { taskId } }));
    const outcomes = await Promise.allSettled(sends);
    const refused = outcomes.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
    expect(outcomes.length - refused.length).toBe(5);
    for (const { reason } of refused) expect(reason).toMatchObject({ reason: "TOO_MANY_REQUESTS" });
    expect(await saidTo(one, taskId)).toHaveLength(6);
    go.open();
    expect(await settle(held)).toBe("COMPLETED");
    await end();
  });

  it("are one, where they expect the same generation", async () => {
    const go = gate();
    const { one, two, end } = await twoProcesses({
      async *execute(turn) {
        if (turn.text !== "first") await go.opened;
        yield inputRequired("?");
      },
    });
    const held = await one.send("first");
    await settle(held);
    const { id: taskId } = held.accepted!.task;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, i) =>
        (i % 2 === 0 ? one : two).send(`${i}`, { message: { taskId }, ifGeneration: 2 }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") {
        expect(outcome.reason).toMatchObject({
          reason: "GENERATION_MISMATCH",
          metadata: { generation: "2", messages: "1" },
        });
      }
    }
    expect(await saidTo(one, taskId)).toHaveLength(2);
    go.open();
    await end();
  });
});

type Step = { readonly at: 0 | 1; readonly what: "send" | "cancel" | "look" | "wait" };

const steps = fc.array(
  fc.record<Step>({
    at: fc.constantFrom(0 as const, 1 as const),
    what: fc.constantFrom(
      "send" as const,
      "send" as const,
      "send" as const,
      "look" as const,
      "wait" as const,
      "cancel" as const,
    ),
  }),
  { minLength: 1, maxLength: 10 },
);

describe("whatever comes to two processes in whatever order", () => {
  it("every accepted message of a task that was not canceled has one turn, in the order of the log", async () => {
    const stores = openShared();
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (moves, pauses) => {
        const seen: string[] = [];
        const { one, two, end } = await twoProcesses(
          {
            async *execute(turn) {
              seen.push(turn.text);
              yield working();
              await new Promise((resolve) => setImmediate(resolve));
              if (pauses) yield inputRequired("?");
            },
          },
          { limits: { ...quick, cancelGraceMs: 5 } },
          stores,
        );
        const sides = [one, two];
        const held = await one.send("first");
        const { id: taskId } = held.accepted!.task;
        const accepted: string[] = ["first"];
        const calls: Promise<unknown>[] = [];
        for (const [index, { at, what }] of moves.entries()) {
          const bench = sides[at] as Bench;
          const text = `${index}`;
          const call = async (): Promise<void> => {
            if (what === "cancel") await bench.engine.cancel(scope, taskId);
            else if (what === "look") (await bench.engine.open(scope, taskId)).release();
            else {
              const task = await bench.send(text, { message: { taskId } });
              accepted.push(text);
              await settle(task);
              task.release();
            }
          };
          if (what === "wait") await new Promise((resolve) => setTimeout(resolve, 3));
          else calls.push(call().catch(onlyRefusals));
        }
        await Promise.all(calls);
        await settle(held);
        const said = await saidTo(one, taskId);
        expect([...said].sort()).toEqual([...accepted].sort());
        if (!moves.some(({ what }) => what === "cancel")) expect(seen).toEqual(said);
        else expect(seen).toEqual(said.slice(0, seen.length));
        held.release();
        await end();
      }),
      { numRuns: isSlow ? scaled(5, 10) : scaled(12, 25) },
    );
  });
});

/** Accepts refusals of an ended task. Any other error fails the test. */
function onlyRefusals(error: unknown): void {
  if (!(error instanceof A2AError) || error.row.http >= 500) throw error;
}

describe("an agent whose task another process ends", () => {
  it("does not count as failed when its step is rejected", async () => {
    let other: Bench | undefined;
    const agent: Omit<Agent, "card"> = {
      async *execute(turn) {
        yield working();
        await turn.step("one", async () => {
          await other?.engine.cancel(scope, turn.taskId);
          return "done";
        });
      },
    };
    const { one, two, end } = await twoProcesses(agent, { limits: quick });
    other = two;
    const held = await one.send("x");
    expect(await settle(held)).toBe("CANCELED");
    await end();
    expect(one.logged.map(({ message }) => message)).not.toContain("an agent failed unexpectedly");
  });
});

describe("a process that cannot read what another one changes", () => {
  it("logs no error of its own while the store is unavailable", async () => {
    const [go, failed] = [gate(), gate()];
    const agent: Omit<Agent, "card"> = {
      async *execute() {
        yield working();
        await go.opened;
      },
    };
    const [first, second] = openShared();
    if (first === undefined || second === undefined) missing();
    let isAway = false;
    const read: TaskStore["read"] = async (request) => {
      if (!isAway) return second.read(request);
      failed.open();
      throw new StoreError("unavailable", "The database is away.");
    };
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (_: object, message: string) => void errors.push(message) };
    const one = new Bench(agent, { leaseMs: 600 }, first);
    const two = new Bench(agent, { leaseMs: 600, logger }, withMethods(second, { read }));
    await Promise.all([one.engine.start(), two.engine.start()]);
    const held = await one.send("x");
    const there = await two.engine.open(scope, held.accepted!.task.id);
    isAway = true;
    go.open();
    await failed.opened;
    isAway = false;
    expect(await settle(there)).toBe("COMPLETED");
    await Promise.all([one.engine.drain(0), two.engine.drain(0)]);
    expect(errors).toEqual([]);
  });
});
