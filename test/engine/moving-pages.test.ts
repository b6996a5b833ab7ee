import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { completed, inputRequired } from "../../src/agent/event.js";
import { neverCanceled } from "../../src/core/async.js";
import type { ListRequest } from "../../src/store/task-store.js";
import { scaled } from "../support/soak.js";
import { isSlow, stores } from "./stores.js";
import { Bench, scope } from "./support.js";

vi.setConfig({ testTimeout: 60_000 });

type Filters = Pick<ListRequest, "contextId" | "state" | "statusFrom">;

/** A change of tasks between two pages. `which` selects a task. */
type Change = { readonly do: "create" | "go on" | "finish" | "cancel"; readonly which: number };

const change: fc.Arbitrary<Change> = fc.record({
  do: fc.constantFrom("create", "create", "create", "go on", "finish", "cancel"),
  which: fc.nat(30),
});
const filters: fc.Arbitrary<Filters> = fc.oneof(
  fc.constant({}),
  fc.constantFrom("a", "b").map((contextId) => ({ contextId })),
  fc.constantFrom(TaskState.INPUT_REQUIRED, TaskState.COMPLETED).map((state) => ({ state })),
  fc.nat(6).map((time) => ({ statusFrom: 1_000 + time })),
);

/** Tasks of one owner, of which several have equal times, and the actions of their client. */
class Tasks {
  readonly bench: Bench;
  readonly owner: string;
  readonly ids: string[] = [];
  /** Round of the last change of each task. */
  readonly touched = new Map<string, number>();
  round = 0;
  #clock = 0;

  constructor(bench: Bench, owner: string) {
    this.bench = bench;
    this.owner = owner;
  }

  /** Advances one millisecond every four readings. */
  now(): number {
    return 1_000 + Math.floor(this.#clock++ / 4);
  }

  async send(text: string, message: { taskId?: string; contextId?: string }): Promise<string> {
    const caller = { owner: this.owner, authenticated: true, scopes: [], claims: {} };
    const held = await this.bench.send(text, { message, caller });
    await held.whenIdle(neverCanceled, 10_000);
    const { id } = held.now().task;
    held.release();
    this.touched.set(id, this.round);
    return id;
  }

  async apply({ do: what, which }: Change): Promise<void> {
    const taskId = this.ids[which % Math.max(1, this.ids.length)];
    if (what === "create" || taskId === undefined) {
      this.ids.push(await this.send(which % 3 === 0 ? "finish" : "ask", { contextId: which % 2 === 0 ? "a" : "b" }));
      return;
    }
    this.touched.set(taskId, this.round);
    // An ended task does not change, but counts as touched.
    if (what === "cancel") await this.bench.engine.cancel({ ...scope, owner: this.owner }, taskId).catch(() => {});
    else await this.send(what === "finish" ? "finish" : "ask", { taskId }).catch(() => {});
  }

  /** Reads all pages and applies changes between them. Returns the ids in the order of the pages. */
  async walk(request: Filters & { limit: number }, changes: readonly (readonly Change[])[]): Promise<string[]> {
    const seen: string[] = [];
    let after: ListRequest["after"];
    do {
      const page = await this.bench.engine.list(
        { ...scope, owner: this.owner, ...request, ...(after && { after }) },
        {},
      );
      seen.push(...page.views.map(({ task }) => task.id));
      after = page.next;
      this.round++;
      for (const each of changes[this.round - 1] ?? []) await this.apply(each);
    } while (after !== undefined);
    return seen;
  }
}

describe.each(stores)("pages of a list over the %s store", (_name, open) => {
  it("show every task that does not change exactly once, whatever happens to the others (SRV-LIST-13)", async () => {
    const store = open();
    let run = 0;
    let unchanged = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 8, maxLength: 25 }),
        filters,
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 8 }),
        async (before, filter, limit, changes) => {
          const agent = {
            async *execute(turn: { text: string }) {
              yield turn.text === "ask" ? inputRequired("?") : completed();
            },
          };
          let tasks: Tasks | undefined;
          const bench = new Bench(agent, { now: () => tasks?.now() ?? 0 }, store);
          tasks = new Tasks(bench, `owner-${run++}`);
          for (const each of before) await tasks.apply(each);
          const start = await bench.engine.list({ ...scope, owner: tasks.owner, ...filter, limit: 100 }, {});
          tasks.touched.clear();
          const seen = await tasks.walk({ ...filter, limit }, changes);
          const still = start.views.map(({ task }) => task.id).filter((id) => !tasks?.touched.has(id));
          unchanged += still.length;
          expect(seen.filter((id) => still.includes(id))).toEqual(still);
          // A changed task moves to a place before the reader, so that no task is seen twice.
          expect(new Set(seen).size).toBe(seen.length);
        },
      ),
      { numRuns: isSlow ? scaled(8, 15) : scaled(40, 80) },
    );
    expect(unchanged).toBeGreaterThan(isSlow ? 10 : 100);
  });
});
