import * as fc from "fast-check";
import { bytesOf, configOf, decodeUtf8, headOf, leaseOf, readAll } from "../../../contract/setup.js";
import {
  type AppendRequest,
  type DeliveryOutcome,
  StoreError,
  type StoreErrorKind,
  type TaskHead,
  type TaskStore,
} from "../../../src/store/task-store.js";

/** Ids whose order differs by bytes, by UTF-16 and by language. */
const ids = ["a", "B", "é", "\u{1F600}", "\uFFEE", "zz", "a\u0301", "quo'te\"\\"];

const place = fc.record({ tenant: fc.constantFrom("", "t", "T2"), owner: fc.constantFrom("ann", "Özil") });
const task = fc.nat(ids.length - 1);
const config = fc.nat(3);
const time = fc.integer({ min: 1, max: 9_000 });
const outcomes = ["done", "retry", "later", "dead"] as const;

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      ...{
        task,
        place,
        time,
        state: fc.integer({ min: 1, max: 8 }),
        sizes: fc.array(fc.nat(2_000), { minLength: 1, maxLength: 4 }),
      },
      isLarge: fc.boolean(),
      lease: fc.option(fc.integer({ min: -1, max: 3 }), { nil: undefined }),
      key: fc.option(fc.nat(9), { nil: undefined }),
      state2: fc.boolean(),
      config: fc.option(config, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("put" as const), task, config, time }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("deliver" as const), outcome: fc.constantFrom(...outcomes), at: time }),
  },
  fc.record({
    do: fc.constant("snapshot" as const),
    task,
    position: fc.integer({ min: 1, max: 9 }),
    pieces: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ do: fc.constant("release" as const), task }),
  fc.record({ do: fc.constant("remove" as const), before: fc.integer({ min: 1, max: 2_000 }) }),
);

/** One change of a store. */
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Histories with everything that a store keeps. */
export const histories: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 60, size: "max" });

/** Applies a history through the store's interface. Steps that the store refuses are skipped. */
export async function fill(store: TaskStore, steps: readonly Step[]): Promise<void> {
  for (const each of steps) {
    try {
      await follow(store, each);
    } catch (error) {
      if (!(error instanceof StoreError) || unexpected.has(error.kind)) throw error;
    }
  }
}

const unexpected: ReadonlySet<StoreErrorKind> = new Set(["unavailable", "damaged", "closed"]);

async function follow(store: TaskStore, step: Step): Promise<unknown> {
  if (step.do === "append") return append(store, step);
  if (step.do === "put") {
    return store.putPushConfig(
      configOf({ ...{ taskId: ids[step.task] ?? "", now: step.time }, ...named(step.config) }),
    );
  }
  if (step.do === "deliver") return deliver(store, step.outcome, step.at);
  if (step.do === "remove") return store.removeFinished({ before: step.before, limit: 3 });
  const taskId = ids[step.task] ?? "";
  if (step.do === "snapshot") {
    const { position, pieces } = step;
    for (let piece = 0; piece < pieces; piece++) {
      const bytes = bytesOf(`${taskId} ${piece} `.repeat(100));
      await store.saveSnapshot({ taskId, snapshot: { position, bytes, piece, last: piece === pieces - 1 } });
    }
    return;
  }
  const lease = (await store.head({ taskId }))?.lease;
  if (lease)
    return store.setLease({ taskId, fence: lease, lease: lease.attempt > 1 ? { ...lease, holder: "" } : null });
}

function named(config: number): { readonly configId: string; readonly target: string } {
  return { configId: ids[config] ?? "", target: `https://host-${config % 2}.example` };
}

async function append(store: TaskStore, step: Extract<Step, { do: "append" }>): Promise<void> {
  const taskId = ids[step.task] ?? "";
  const before = await store.head({ taskId });
  const expected = before?.position ?? 0;
  const entries = step.sizes.map((size, index) =>
    bytesOf(`${expected + index + 1} `.repeat(step.isLarge ? 8 * size : size / 9 + 1)),
  );
  const position = expected + entries.length;
  const scope = before ?? { ...step.place, contextId: `context ${step.task % 3}` };
  const { tenant, owner, contextId } = scope;
  const head: TaskHead = headOf({
    ...{ taskId, tenant, owner, contextId, state: step.state, statusTime: step.time, position },
    generation: (before?.generation ?? 0) + step.sizes.length * 2,
  });
  const stored = await store.conversation({ tenant, owner, contextId });
  const request: AppendRequest = {
    ...{ head, expected, creates: expected === 0, entries, time: step.time },
    ...(step.lease !== undefined && { lease: leaseOf({ attempt: step.lease, turn: expected + 1 }) }),
    ...(step.key !== undefined && {
      send: { tenant, owner, key: `key ${step.key}`, fingerprint: `print ${step.time}`, taskId, position },
    }),
    ...(step.state2 && {
      conversation: {
        expected: stored?.version ?? 0,
        version: (stored?.version ?? 0) + 7,
        bytes: bytesOf("state".repeat(300)),
      },
    }),
    ...(step.config !== undefined && {
      pushConfig: { ...configOf({ taskId, ...named(step.config) }), configId: ids[step.config] ?? "" },
    }),
  };
  await store.append(request);
}

async function deliver(store: TaskStore, kind: (typeof outcomes)[number], at: number): Promise<void> {
  const [claimed] = await store.claimDeliveries({ holder: "me", leaseMs: 600_000, now: 9_000, limit: 1 });
  if (claimed === undefined) return;
  const { taskId, configId, claim, position, headPosition } = claimed;
  const attempt = { time: at, durationMs: 12, generation: 3, status: 503, answer: "später" };
  const outcome: DeliveryOutcome =
    kind === "done"
      ? { kind }
      : kind === "retry"
        ? { kind, at, failure: "busy", failingSince: at - 1, attempt }
        : kind === "later"
          ? { kind, at }
          : { kind, at, failure: "gone", attempt };
  const reached = kind === "done" ? headPosition : Math.min(headPosition, position + 1);
  await store.completeDelivery({ key: { taskId, configId }, holder: "me", claim, position: reached, outcome });
}

/**
 * Everything that the reads of a store tell, with leases and claims as if their holders were gone. A store that was not
 * shared before has released its claims.
 */
export async function contentOf(store: TaskStore): Promise<unknown> {
  const lists = await listsOf(store);
  const tasks = [];
  for (const { taskId } of lists.heads) tasks.push(await taskOf(store, taskId));
  return { ...lists, tasks };
}

const unheld = <T extends { readonly lease: TaskHead["lease"] }>(head: T): T => ({
  ...head,
  lease: head.lease && { ...head.lease, holder: "" },
});

async function listsOf(store: TaskStore) {
  const limit = 1_000;
  const heads: TaskHead[] = [];
  for (let next: Parameters<TaskStore["listHeads"]>[0]["after"] | null = undefined; next !== null; ) {
    const page = await store.listHeads({ limit: 3, after: next });
    heads.push(...page.heads.map(unheld));
    next = page.next ?? null;
  }
  const owners = await store.listOwners({ limit });
  const pages = [];
  for (const { tenant, owner } of owners) {
    pages.push(await store.countOpen({ tenant, owner }), await store.countOpen({ owner }));
    for (const filter of [{}, { state: 1 }, { state: 3 }, { contextId: "context 1" }, { statusFrom: 4_000 }]) {
      const page = await store.list({ tenant, owner, limit: 2, ...filter });
      pages.push({ ...page, heads: page.heads.map(unheld) });
    }
  }
  const deliveries = await store.listDeliveries({ limit });
  const { openTasks, interrupted, due, dead } = await store.census();
  return {
    ...{ heads, owners, pages, census: { openTasks, interrupted, due, dead } },
    contexts: await store.listContexts({ limit }),
    leased: (await store.listLeased({ limit })).map(unheld).sort((a, b) => (a.taskId < b.taskId ? -1 : 1)),
    waiting: (await store.listInterrupted({ before: 1e6, limit })).map(unheld),
    deliveries: deliveries.deliveries.map((each) => ({ ...each, holder: undefined })),
    dead: await store.listDeadDeliveries({ limit }),
    configs: await store.scanPushConfigs({ limit }),
    next: await store.nextDelivery(),
    restorations: store.restorations ?? [],
  };
}

async function taskOf(store: TaskStore, taskId: string): Promise<unknown> {
  const head = await store.head({ taskId });
  const loaded = await store.load({ taskId });
  const { snapshot } = loaded ?? {};
  const pieces = [];
  for (let piece = 0; piece < (snapshot?.pieces ?? 1) && snapshot !== undefined; piece++) {
    const bytes = await store.readSnapshot({ taskId, position: snapshot.position, piece });
    pieces.push(bytes && decodeUtf8(bytes));
  }
  const { tenant = "", owner = "", contextId = "" } = head ?? {};
  const sends = [];
  for (let key = 0; key < 10; key++) sends.push(await store.findSend({ tenant, owner, key: `key ${key}` }));
  const configs = await store.listPushConfigs({ taskId, after: "", limit: 100 });
  const attempts = [];
  for (const { configId } of configs) attempts.push(await store.listAttempts({ taskId, configId }));
  const conversation = await store.conversation({ tenant, owner, contextId });
  return {
    ...{ head: head && unheld(head), entries: await readAll(store, taskId, 3), pieces, sends, configs, attempts },
    snapshot: snapshot && { position: snapshot.position, pieces: snapshot.pieces ?? 1 },
    conversation: conversation && { version: conversation.version, text: decodeUtf8(conversation.bytes) },
  };
}
