import type { Arbitrary } from "fast-check";
import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { DeliveryOutcome, PushConfigKey, TaskStore } from "../src/store/task-store.js";
import { isTerminal } from "../src/task/state.js";
import { type Config, type Limits, Model } from "./push-reference.js";
import { configOf, create, followRequest, type StoreContract, scenario } from "./setup.js";

type Step =
  | {
      readonly do: "append";
      readonly task: number;
      readonly ends: boolean;
      readonly config: number | undefined;
      readonly limits: Limits;
    }
  | { readonly do: "put"; readonly task: number; readonly config: number; readonly limits: Limits }
  | { readonly do: "delete"; readonly task: number; readonly config: number }
  | {
      readonly do: "claim";
      readonly holder: string;
      readonly limit: number;
      readonly again: boolean;
      /** The quota of each target; one target gets none. */
      readonly capacity: number | undefined;
    }
  | {
      readonly do: "save" | "done" | "retry" | "later" | "dead";
      /** Index into all claims so far. */
      readonly claim: number;
      readonly more: number;
    }
  | { readonly do: "redrive"; readonly task: number | undefined; readonly config: number }
  | { readonly do: "remove" };

/** Random histories of a few configurations, with every kind of interleaving. */
export function pushModelContract(contract: StoreContract): void {
  const { suite, fc } = contract;
  suite.describe("random histories of push notifications", () => {
    scenario(contract, "agree with a simple model", async (store) => {
      let run = 0;
      const property = fc.asyncProperty(fc.array(stepOf(fc), { maxLength: 80, size: "max" }), async (steps) => {
        const model = new Model(`push-${run++}`);
        try {
          for (const step of steps) {
            model.now += 10;
            await follow(contract, store, model, step);
            await compare(contract, store, model);
          }
        } finally {
          await clear(store, model);
        }
      });
      await fc.assert(property, { numRuns: 40 });
    });
  });
}

function stepOf(fc: StoreContract["fc"]): Arbitrary<Step> {
  const task = fc.nat(3);
  const config = fc.nat(2);
  const limits = fc.record({
    maxPerTask: fc.constantFrom(2, 3, 9),
    maxPerOwner: fc.constantFrom(1, 3, 5, 99),
    ofAllTenants: fc.boolean(),
  });
  const optional = <T>(arbitrary: Arbitrary<T>): Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
  const ends = fc.constantFrom(false, false, false, true);
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant("append" as const), task, ends, config: optional(config), limits }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("put" as const), task, config, limits }) },
    fc.record({ do: fc.constant("delete" as const), task, config }),
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("claim" as const),
        holder: fc.constantFrom("me", "other"),
        limit: fc.integer({ min: 1, max: 4 }),
        again: fc.constantFrom(false, false, true),
        capacity: fc.constantFrom(undefined, undefined, 1, 2),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom(
          "save" as const,
          "done" as const,
          "done" as const,
          "retry" as const,
          "later" as const,
          "dead" as const,
        ),
        claim: fc.nat(4),
        more: fc.nat(3),
      }),
    },
    fc.record({ do: fc.constant("redrive" as const), task: optional(task), config }),
    fc.record({ do: fc.constant("remove" as const) }),
  );
}

async function follow(contract: StoreContract, store: TaskStore, model: Model, step: Step): Promise<void> {
  const { expect } = contract.suite;
  const { now } = model;
  switch (step.do) {
    case "append":
      return append(contract, store, model, step);
    case "put": {
      const key = keyOf(model, step);
      const tooManyOf = model.tooManyOf(key, step.limits);
      const known = model.heads.get(key.taskId);
      const outcome = known === undefined ? "no-task" : tooManyOf === undefined ? "put" : `too-many-of-${tooManyOf}`;
      const target = `target-${step.config}`;
      expect(await store.putPushConfig(configOf({ ...key, ...step.limits, target, now }))).toBe(outcome);
      if (outcome === "put") model.put(key, target, known?.position ?? 0);
      return;
    }
    case "delete":
      await store.deletePushConfig(keyOf(model, step));
      model.configs.delete(`${keyOf(model, step).taskId} ${keyOf(model, step).configId}`);
      return;
    case "claim":
      return claim(contract, store, model, step);
    case "redrive": {
      const { task } = step;
      const keys = task === undefined ? undefined : [keyOf(model, { ...step, task })];
      const named = keys?.map((key) => model.find(key)) ?? [...model.configs.values()];
      const dead = named.filter((config) => config?.state === "dead");
      const waiting = named.filter((config) => keys && config?.state === "due" && !config.holder && config.at > now);
      expect(await store.redriveDeliveries({ now, ...(keys && { keys }) })).toBe(dead.length + waiting.length);
      for (const config of waiting) Object.assign(config ?? {}, { at: now });
      for (const config of dead) {
        Object.assign(config ?? {}, { state: "due", at: now, attempts: 0, failingSince: undefined, failure: "" });
      }
      return;
    }
    case "remove": {
      const over = [...model.heads.keys()].filter((taskId) => model.isOver(taskId));
      const gone = over.filter((taskId) => model.of(taskId).every(({ state }) => state !== "due"));
      expect(await store.removeFinished({ before: Number.MAX_SAFE_INTEGER, limit: 100 })).toBe(gone.length);
      for (const taskId of gone) {
        model.heads.delete(taskId);
        for (const { configId } of model.of(taskId)) model.configs.delete(`${taskId} ${configId}`);
      }
      return;
    }
    default:
      return complete(contract, store, model, step);
  }
}

async function append(
  contract: StoreContract,
  store: TaskStore,
  model: Model,
  { task, ends, config, limits }: Step & { readonly do: "append" },
): Promise<void> {
  const { expect } = contract.suite;
  const taskId = model.taskId(task);
  const head = model.heads.get(taskId);
  if (head === undefined) {
    model.heads.set(taskId, await create(store, { taskId, tenant: model.tenant }));
    return;
  }
  if (isTerminal(head.state)) return;
  const key = { taskId, configId: `${config}` };
  const target = `target-${config}`;
  const request = {
    ...followRequest(head, ends ? { state: TaskState.COMPLETED } : {}),
    time: model.now,
    pushConfig: config === undefined ? undefined : configOf({ ...key, ...limits, target }),
  };
  const tooManyOf = config === undefined ? undefined : model.tooManyOf(key, limits);
  if (tooManyOf !== undefined) {
    await expect(store.append(request)).rejects.toMatchObject({ kind: "too-many-push-configs", tooManyOf });
    return;
  }
  model.append(head, ends);
  if (config !== undefined) model.put(key, target, head.position);
  expect(await store.append(request)).toEqual(model.of(taskId).length > 0 ? { pushed: true } : undefined);
}

async function claim(
  contract: StoreContract,
  store: TaskStore,
  model: Model,
  { holder, again, limit, capacity: each }: Step & { readonly do: "claim" },
): Promise<void> {
  const { expect } = contract.suite;
  const { now } = model;
  const capacity = each === undefined ? undefined : { of: new Map([["target-1", 0]]), others: each };
  const claimed = await store.claimDeliveries({
    holder,
    limit,
    again,
    now,
    leaseMs: 600_000,
    ...(capacity && { capacity }),
  });
  const held = [...model.configs.values()].filter((config) => again && config.holder === holder);
  const due = model.due().filter(({ at }) => at <= now);
  const targets = new Map<string, Config[]>();
  for (const config of due) targets.set(config.target, [...(targets.get(config.target) ?? []), config]);
  const mostOf = (target: string): number =>
    capacity === undefined ? due.length : (capacity.of.get(target) ?? capacity.others);
  const free = [...targets].flatMap(([target, all]) => all.slice(0, mostOf(target)));
  const found = claimed.map((one) => model.find(one));
  expect(new Set(found.slice(0, held.length))).toEqual(new Set(held));
  const fresh = found.slice(held.length);
  expect(fresh).toHaveLength(Math.max(0, Math.min(limit - held.length, free.length)));
  // From each target the longest due; those due at the same time come in any order.
  for (const [target, all] of targets) {
    const taken = fresh.filter((config) => config?.target === target).map((config) => config?.at);
    expect(taken.length).toBeLessThanOrEqual(mostOf(target));
    expect(taken).toEqual(all.slice(0, taken.length).map(({ at }) => at));
  }
  for (const one of claimed) {
    const config = model.find(one);
    if (config === undefined) throw new Error("a configuration was claimed that is not there");
    const { taskId, configId, target, position, attempts, failingSince } = config;
    const { tenant } = model;
    const { bytes, claim: number, owner, ...rest } = one;
    const headPosition = model.heads.get(taskId)?.position;
    expect(rest).toEqual({ taskId, configId, target, position, headPosition, attempts, failingSince, tenant });
    Object.assign(config, { holder, claim: number });
    model.claims.unshift({ ...one, holder });
  }
}

async function complete(
  contract: StoreContract,
  store: TaskStore,
  model: Model,
  { do: what, claim: index, more }: Step & { readonly claim: number; readonly more: number },
): Promise<void> {
  const { expect } = contract.suite;
  const { now } = model;
  const one = model.claims[index];
  if (one === undefined) return;
  const { holder, claim: number, taskId, configId } = one;
  const config = model.claimed(one);
  const position = Math.min(one.position + more, model.heads.get(taskId)?.position ?? one.position);
  const progress = { key: { taskId, configId }, holder, claim: number, position };
  if (config !== undefined) model.advance(config, position);
  if (what === "save") {
    expect(await store.savePushPosition(progress)).toBe(config === undefined ? "lost" : "saved");
    return;
  }
  const attempt = { time: now, durationMs: 1, generation: position, status: 0, answer: "" };
  const outcomes: Record<string, DeliveryOutcome> = {
    done: { kind: "done" },
    retry: { kind: "retry", at: now + 15, failure: `retried ${now}`, failingSince: now, attempt },
    later: { kind: "later", at: now + 5 },
    dead: { kind: "dead", at: now, failure: `dead ${now}`, attempt },
  };
  const outcome = outcomes[what] ?? { kind: "done" };
  const expected = config === undefined ? "lost" : model.complete(config, outcome);
  expect(await store.completeDelivery({ ...progress, outcome })).toBe(expected);
}

async function compare(contract: StoreContract, store: TaskStore, model: Model): Promise<void> {
  const { expect } = contract.suite;
  expect(await store.nextDelivery()).toBe(model.due()[0]?.at);
  const dead = [...model.configs.values()].filter(({ state }) => state === "dead");
  const listed = await store.listDeadDeliveries({ tenant: model.tenant, limit: 100 });
  expect(listed.map(({ bytes, owner, tenant, ...rest }) => rest)).toEqual(
    dead
      .map(({ taskId, configId, target, position, failure, failingSince, at }) => {
        const headPosition = model.heads.get(taskId)?.position;
        return { taskId, configId, target, position, headPosition, failure, failingSince, at };
      })
      .sort((a, b) => (`${a.taskId} ${a.configId}` < `${b.taskId} ${b.configId}` ? -1 : 1)),
  );
  await compareLists(contract, store, model);
  for (const taskId of model.heads.keys()) {
    const configs = await store.listPushConfigs({ taskId, after: "", limit: 100 });
    expect(configs.map(({ configId, config }) => [configId, config.position])).toEqual(
      model
        .of(taskId)
        .map(({ configId, position }) => [configId, position])
        .sort(),
    );
  }
}

async function compareLists(contract: StoreContract, store: TaskStore, model: Model): Promise<void> {
  const { expect } = contract.suite;
  const { tenant } = model;
  const { deliveries } = await store.listDeliveries({ tenant, limit: 100 });
  expect(deliveries.map(({ owner, tenant, ...rest }) => rest)).toEqual(
    [...model.configs.values()]
      .map(({ claim, failed, at, ...config }) => {
        const headPosition = model.heads.get(config.taskId)?.position;
        return { ...config, headPosition, at: config.state === "idle" ? undefined : at };
      })
      .sort((a, b) => (`${a.taskId} ${a.configId}` < `${b.taskId} ${b.configId}` ? -1 : 1)),
  );
  for (const config of model.configs.values()) {
    const attempts = await store.listAttempts(config);
    expect(attempts.map(({ failure }) => failure)).toEqual(config.failed.slice(0, 20));
  }
}

/** Removes everything that one history stored, before the next one. */
async function clear(store: TaskStore, model: Model): Promise<void> {
  for (const { taskId, configId } of model.configs.values()) await store.deletePushConfig({ taskId, configId });
  await store.removeFinished({ before: Number.MAX_SAFE_INTEGER, limit: 100 });
}

function keyOf(model: Model, { task, config }: { readonly task: number; readonly config: number }): PushConfigKey {
  return { taskId: model.taskId(task), configId: `${config}` };
}
