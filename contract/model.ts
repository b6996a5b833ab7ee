import type { Arbitrary } from "fast-check";
import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type {
  AppendRequest,
  ConversationWrite,
  IdempotencyRecord,
  ListPage,
  ListRequest,
  StoredSnapshot,
  StoreErrorKind,
  TaskHead,
  TaskStore,
} from "../src/store/task-store.js";
import { isTerminal } from "../src/task/state.js";
import { bytesOf, decodeUtf8, headOf, leaseOf, listAll, numbered, type StoreContract, scenario } from "./setup.js";

/** One append; `off` is the difference between the expected position and the right one. */
interface AppendStep {
  readonly task: number;
  readonly off: number;
  readonly state: TaskState;
  readonly statusTime: number;
  readonly count: number;
  readonly key: number | undefined;
  /** Lease attempts of one holder: the one that the append relies on, and the one that it requests. */
  readonly fence: number | undefined;
  readonly lease: number | undefined;
  /** The difference between the expected version of the conversation's state and the right one. */
  readonly versionOff: number | undefined;
}

type Filters = Pick<ListRequest, "contextId" | "state" | "statusFrom">;

type Step =
  | { readonly do: "append together"; readonly appends: readonly AppendStep[] }
  | { readonly do: "list"; readonly filters: Filters; readonly limit: number }
  | { readonly do: "read"; readonly task: number; readonly after: number; readonly limit: number }
  | { readonly do: "snapshot"; readonly task: number; readonly position: number }
  | { readonly do: "remove"; readonly before: number };

interface ModelTask {
  head: TaskHead;
  snapshot: StoredSnapshot | undefined;
}

/** The reference model that every store has to agree with. Its logs are numbered entries. */
class Model {
  readonly tasks = new Map<string, ModelTask>();
  readonly #sends = new Map<string, IdempotencyRecord>();
  /** Versions of the states of contexts, never used twice. The bytes are the version as text. */
  readonly versions = new Map<string, number>();
  #version = 0;
  readonly place: Pick<TaskHead, "tenant" | "owner">;

  constructor(tenant: string) {
    this.place = { tenant, owner: "owner" };
  }

  id(task: number): string {
    return `${this.place.tenant}-${task}`;
  }

  request({ task, off, state, statusTime, count, key, fence, lease, versionOff }: AppendStep): AppendRequest {
    const taskId = this.id(task);
    const contextId = `context-${task % 3}`;
    const position = Math.max(0, (this.tasks.get(taskId)?.head.position ?? 0) + off);
    const head = headOf({ taskId, ...this.place, contextId, state, statusTime, position: position + count });
    const request = {
      head,
      expected: position,
      creates: position === 0,
      entries: numbered(position, count),
      ...(fence !== undefined && { fence: leaseOf({ attempt: fence }) }),
      ...(lease !== undefined && { lease: leaseOf({ attempt: lease }) }),
      ...(versionOff !== undefined && { conversation: this.#write(contextId, versionOff) }),
    };
    if (key === undefined) return request;
    const send = { ...this.place, key: `${task}-${key}`, fingerprint: `${off}`, taskId, position: position + count };
    return { ...request, send };
  }

  #write(contextId: string, off: number): ConversationWrite {
    this.#version += 10;
    const expected = Math.max(0, (this.versions.get(contextId) ?? 0) + off);
    return { expected, version: this.#version, bytes: bytesOf(`${this.#version}`) };
  }

  append({ head, expected, send, fence, lease, conversation }: AppendRequest): StoreErrorKind | "stored" {
    const task = this.tasks.get(head.taskId);
    if (send !== undefined && this.#sends.has(send.key)) return "duplicate";
    if (task !== undefined && isTerminal(task.head.state)) return "finished";
    const there = task?.head.lease;
    const held = task === undefined ? lease : there;
    if (fence !== undefined && held?.attempt !== fence.attempt) return "fenced";
    if ((task?.head.position ?? 0) !== expected) return "conflict";
    if (conversation !== undefined) {
      if ((this.versions.get(head.contextId) ?? 0) !== conversation.expected) return "conversation-moved";
      this.versions.set(head.contextId, conversation.version);
    }
    const next = isTerminal(head.state) ? null : (there ?? lease ?? null);
    this.tasks.set(head.taskId, { head: { ...head, lease: next }, snapshot: task?.snapshot });
    if (send !== undefined) this.#sends.set(send.key, send);
    return "stored";
  }

  list(filters: Filters): TaskHead[] {
    return [...this.tasks.values()]
      .map(({ head }) => head)
      .filter((head) => filters.contextId === undefined || head.contextId === filters.contextId)
      .filter((head) => filters.state === undefined || head.state === filters.state)
      .filter((head) => filters.statusFrom === undefined || head.statusTime >= filters.statusFrom)
      .sort((a, b) => b.statusTime - a.statusTime || (a.taskId < b.taskId ? 1 : -1));
  }

  saveSnapshot(taskId: string, snapshot: StoredSnapshot): void {
    const task = this.tasks.get(taskId);
    if (task !== undefined && snapshot.position > (task.snapshot?.position ?? 0)) task.snapshot = snapshot;
  }

  remove(before: number): void {
    for (const { head } of [...this.tasks.values()]) {
      if (!isTerminal(head.state) || head.statusTime >= before) continue;
      this.tasks.delete(head.taskId);
      for (const [key, send] of this.#sends) if (send.taskId === head.taskId) this.#sends.delete(key);
      if (this.list({ contextId: head.contextId }).length === 0) this.versions.delete(head.contextId);
    }
  }
}

/** Random histories of a few tasks, with every kind of conflict between two callers. */
export function modelContract(contract: StoreContract): void {
  const { suite, fc } = contract;
  suite.describe("random histories", () => {
    scenario(contract, "agree with a simple model", async (store) => {
      let run = 0;
      const property = fc.asyncProperty(fc.array(stepOf(fc), { maxLength: 40 }), async (steps) => {
        const model = new Model(`run-${run++}`);
        for (const step of steps) await follow(contract, store, model, step);
        await compare(contract, store, model);
      });
      await fc.assert(property, { numRuns: 60 });
    });
  });
}

function stepOf(fc: StoreContract["fc"]): Arbitrary<Step> {
  const task = fc.nat(5);
  const state = fc.integer({ min: 1, max: 8 });
  const optional = <T>(arbitrary: Arbitrary<T>): Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
  const append = fc.record({
    task,
    off: fc.constantFrom(0, 0, 0, 0, 0, 0, -1, 1),
    state: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(1, 2, 6, 8) }, { weight: 1, arbitrary: state }),
    statusTime: fc.nat(6),
    count: fc.integer({ min: 1, max: 3 }),
    key: optional(fc.nat(2)),
    fence: fc.constantFrom(undefined, undefined, undefined, undefined, 1, 2),
    lease: fc.constantFrom(undefined, undefined, 1, 2),
    versionOff: fc.constantFrom(undefined, undefined, 0, 0, 0, -1, 1),
  });
  const contextId = fc.nat(3).map((index) => `context-${index}`);
  const filters = fc
    .record({ contextId: optional(contextId), state: optional(state), statusFrom: optional(fc.nat(6)) })
    .map(onlyNamed);
  // Two appends may share a context as long as not both write its state.
  const selector = ({ task, versionOff }: AppendStep): number => (versionOff === undefined ? task + 3 : task % 3);
  const different = (appends: AppendStep[]): AppendStep[] => appends.filter(isFirstOfTask);
  const appends = fc.uniqueArray(append, { minLength: 1, maxLength: 6, selector }).map(different);
  const together = appends.map((each): Step => ({ do: "append together", appends: each }));
  return fc.oneof(
    { weight: 6, arbitrary: together },
    fc.record({ do: fc.constant("list" as const), filters, limit: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ do: fc.constant("read" as const), task, after: fc.nat(12), limit: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ do: fc.constant("snapshot" as const), task, position: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ do: fc.constant("remove" as const), before: fc.nat(6) }),
  );
}

function isFirstOfTask({ task }: AppendStep, index: number, appends: readonly AppendStep[]): boolean {
  return appends.findIndex((each) => each.task === task) === index;
}

function onlyNamed(filters: { [K in keyof Filters]-?: Filters[K] | undefined }): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}

async function follow(contract: StoreContract, store: TaskStore, model: Model, step: Step): Promise<void> {
  const { expect } = contract.suite;
  switch (step.do) {
    case "append together": {
      // The appends are to different tasks and conversations, so their order does not change the outcomes.
      const requests = step.appends.map((append) => model.request(append));
      const outcomes = await Promise.all(requests.map((request) => store.append(request).then(() => "stored", kindOf)));
      expect(outcomes).toEqual(requests.map((request) => model.append(request)));
      return;
    }
    case "list":
      expect(await firstPage(store, model, step.filters, step.limit)).toEqual({
        heads: model.list(step.filters).slice(0, step.limit),
        total: model.list(step.filters).length,
      });
      return;
    case "read": {
      const { task, after, limit } = step;
      const entries = (await store.read({ taskId: model.id(task), after, limit })).map(decodeUtf8);
      const there = numbered(0, model.tasks.get(model.id(task))?.head.position ?? 0).map(decodeUtf8);
      expect(entries).toEqual(there.slice(after, after + limit));
      return;
    }
    case "snapshot": {
      const position = Math.min(step.position, model.tasks.get(model.id(step.task))?.head.position ?? step.position);
      const snapshot = { position, bytes: bytesOf(`${position}`) };
      model.saveSnapshot(model.id(step.task), snapshot);
      await store.saveSnapshot({ taskId: model.id(step.task), snapshot });
      return;
    }
    case "remove":
      model.remove(step.before);
      await store.removeFinished({ before: step.before, limit: 10_000 });
  }
}

async function compare(contract: StoreContract, store: TaskStore, model: Model): Promise<void> {
  const { expect } = contract.suite;
  for (let task = 0; task <= 5; task++) {
    const taskId = model.id(task);
    const expected = model.tasks.get(taskId);
    expect(await store.head({ taskId })).toEqual(expected?.head);
    const loaded = await store.load({ taskId });
    expect(loaded?.snapshot).toEqual(expected?.snapshot);
    const folded = expected?.snapshot?.position ?? 0;
    const left = (expected?.head.position ?? 0) - folded;
    expect((loaded?.entries ?? []).map(decodeUtf8)).toEqual(numbered(folded, left).map(decodeUtf8));
  }
  for (const contextId of ["context-0", "context-1", "context-2", "context-3"]) {
    const version = model.versions.get(contextId);
    const stored = await store.conversation({ ...model.place, contextId });
    expect(stored).toEqual(version === undefined ? undefined : { version, bytes: bytesOf(`${version}`) });
  }
  for (const filters of [{}, { contextId: "context-1" }, { state: TaskState.WORKING }, { statusFrom: 3 }]) {
    const ids = await listAll(store, { ...model.place, ...filters, limit: 2 });
    expect(ids).toEqual(model.list(filters).map((head) => head.taskId));
  }
}

function firstPage(store: TaskStore, model: Model, filters: Filters, limit: number): Promise<ListPage> {
  return store.list({ ...model.place, ...filters, limit });
}

function kindOf(error: unknown): unknown {
  return error instanceof Error && "kind" in error ? error.kind : error;
}
