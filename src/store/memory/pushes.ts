import { addToCount } from "../../core/maps.js";
import { isTerminal } from "../../task/state.js";
import {
  advanced,
  attemptOf,
  completed,
  counts,
  DEAD,
  type Delivery,
  DUE,
  type DueSource,
  deliveryFrom,
  deliveryStates,
  FairClaims,
  IDLE,
  passes,
  redriven,
  STORED_ATTEMPTS,
} from "../deliveries.js";
import { compareIds } from "../order.js";
import type {
  ClaimedDelivery,
  DeadDelivery,
  DeliveryOutcome,
  DeliveryPage,
  FailedAttempt,
  NewPushConfig,
  PushConfigKey,
  StoredDelivery,
  StoredPushConfig,
} from "../push-store.js";
import type { Request } from "../request.js";
import type { TaskHead } from "../task-store.js";
import { DueList } from "./due-list.js";
import { ownerKey } from "./list.js";

/** A task, as its push configurations see it. */
interface Pushed {
  readonly head: TaskHead;
  /** Created with the first one: most tasks have none. */
  configs: Map<string, PushConfig> | undefined;
}

type Owner = Parameters<typeof ownerKey>[0];

export interface PushConfig {
  readonly task: Pushed;
  readonly configId: string;
  bytes: Uint8Array;
  target: string;
  delivery: Delivery;
  /** The process that holds it, or undefined. */
  holder: string | undefined;
  claim: number;
  /** Failed attempts, newest first. */
  failed: readonly FailedAttempt[];
}

/** The push configurations of a store in memory. */
export class Pushes {
  readonly #due = new DueList<PushConfig>();
  /** The due configurations by target. */
  readonly #dueOf = new Map<string, DueList<PushConfig>>();
  readonly #fair = new FairClaims();
  readonly #held = new Map<string, Set<PushConfig>>();
  readonly #dead = new Set<PushConfig>();
  /** The number of configurations counted towards each owner's limit, by `ownerKey`. */
  readonly #owners = new Map<string, number>();
  /** The same across tenants, by owner. */
  readonly #ownersOfAll = new Map<string, number>();
  #claims = 0;

  /** Returns which limit a new configuration would exceed, or undefined. */
  tooManyOf(task: Pushed | undefined, of: Owner, config: NewPushConfig): "task" | "owner" | undefined {
    if (task?.configs?.has(config.configId)) return undefined;
    if ((task?.configs?.size ?? 0) >= config.maxPerTask) return "task";
    if (task !== undefined && isTerminal(task.head.state)) return undefined;
    const count = config.ofAllTenants === true ? this.#ownersOfAll.get(of.owner) : this.#owners.get(ownerKey(of));
    return (count ?? 0) >= config.maxPerOwner ? "owner" : undefined;
  }

  /** Puts a configuration within the limits; a new one begins at `position`. */
  put(task: Pushed, config: NewPushConfig, at: { readonly position: number; readonly now: number }): void {
    const { configId, target } = config;
    const bytes = new Uint8Array(config.bytes);
    task.configs ??= new Map();
    const known = task.configs.get(configId);
    const delivery = deliveryFrom(known?.delivery.position ?? at.position, task.head.position, at.now);
    if (known === undefined) {
      const created = { task, configId, bytes, target, delivery, holder: undefined, claim: 0, failed: [] };
      task.configs.set(configId, created);
      this.#index(created);
      this.#count(created, 1);
      return;
    }
    known.bytes = bytes;
    known.failed = [];
    this.#change(known, delivery, target);
  }

  delete(config: PushConfig): void {
    this.#count(config, -1);
    this.#unindex(config);
    config.task.configs?.delete(config.configId);
    if (config.task.configs?.size === 0) config.task.configs = undefined;
  }

  /** Makes the idle configurations of a task due. */
  appended({ configs }: Pushed, now: number): void {
    for (const config of configs?.values() ?? []) {
      if (config.delivery.state !== IDLE) continue;
      config.delivery = { ...config.delivery, state: DUE, at: now };
      this.#index(config);
    }
  }

  /** True if a delivery of the task is due. */
  isDue({ configs }: Pushed): boolean {
    for (const { delivery } of configs?.values() ?? []) if (delivery.state === DUE) return true;
    return false;
  }

  /** Number of configurations whose deliveries are due, held ones included. */
  get dueCount(): number {
    return [...this.#held.values()].reduce((sum, { size }) => sum + size, this.#due.size);
  }

  /** Number of configurations whose deliveries are dead. */
  get deadCount(): number {
    return this.#dead.size;
  }

  /** The processes that hold a configuration. */
  holders(): Iterable<string> {
    return this.#held.keys();
  }

  /** Releases everything that a process holds. */
  release(holder: string): void {
    for (const config of [...(this.#held.get(holder) ?? [])]) this.#moveTo(config, undefined);
  }

  claim({ holder, now, limit, capacity, again = false }: Request<"claimDeliveries">): ClaimedDelivery[] {
    const claimed: ClaimedDelivery[] = [];
    for (const config of again ? (this.#held.get(holder) ?? []) : []) {
      config.claim = ++this.#claims;
      claimed.push(toClaimed(config));
    }
    const left = limit - claimed.length;
    if (left <= 0) return claimed;
    const source: DueSource<PushConfig> = {
      first: (most) => this.#due.due(now, most),
      of: (target, most) => this.#dueOf.get(target)?.due(now, most) ?? [],
      targetAfter: (target) => this.#targetAfter(target),
      take: (config) => {
        this.#moveTo(config, holder);
        config.claim = ++this.#claims;
        claimed.push(toClaimed(config));
      },
    };
    this.#fair.claim(source, { limit: left, ...(capacity && { capacity }) });
    return claimed;
  }

  next(): number | undefined {
    return this.#due.first?.delivery.at;
  }

  reschedule({ latest, to }: Request<"rescheduleDeliveries">): number {
    const due = [...this.#due.after(latest), ...[...this.#held.values()].flatMap((held) => [...held])];
    const late = due.filter(({ delivery }) => delivery.at > latest);
    for (const config of late) {
      this.#unindex(config);
      config.delivery = { ...config.delivery, at: to };
      this.#index(config);
    }
    return late.length;
  }

  save(config: PushConfig | undefined, { holder, claim, position }: Request<"savePushPosition">): config is PushConfig {
    if (config === undefined || config.holder !== holder || config.claim !== claim) return false;
    config.delivery = advanced(config.delivery, position);
    return true;
  }

  /** Ends a claim after its position was saved. */
  complete(config: PushConfig, outcome: DeliveryOutcome): "more" | "completed" {
    const delivery = completed(config.delivery, outcome, config.task.head.position);
    if (delivery === undefined) return "more";
    const attempt = attemptOf(outcome, config.holder ?? "");
    if (attempt !== undefined) config.failed = [attempt, ...config.failed].slice(0, STORED_ATTEMPTS);
    this.#change(config, delivery);
    return "completed";
  }

  listDead({ after, limit, ...filter }: Request<"listDeadDeliveries">): DeadDelivery[] {
    return inOrder(this.dead(filter), after).slice(0, limit).map(toDead);
  }

  /** The dead configurations that match the filters. */
  dead({ tenant, owner, target }: Pick<Request<"listDeadDeliveries">, "tenant" | "owner" | "target">): PushConfig[] {
    return [...this.#dead].filter(
      ({ task: { head }, target: own }) =>
        (tenant ?? head.tenant) === head.tenant && (owner ?? head.owner) === head.owner && (target ?? own) === own,
    );
  }

  redrive(config: PushConfig, now: number): boolean {
    const delivery = redriven(config.delivery, config.holder !== undefined, now);
    if (delivery === undefined) return false;
    this.#unindex(config);
    config.delivery = delivery;
    this.#index(config);
    return true;
  }

  /** Number of an owner's configurations that count towards its limit. */
  countOf(of: Owner): number {
    return this.#owners.get(ownerKey(of)) ?? 0;
  }

  /** Removes the configurations of a removed task. */
  forget(task: Pushed): void {
    for (const config of task.configs?.values() ?? []) this.delete(config);
  }

  #change(config: PushConfig, delivery: Delivery, target: string = config.target): void {
    this.#count(config, -1);
    this.#unindex(config);
    config.target = target;
    config.delivery = delivery;
    config.holder = undefined;
    this.#index(config);
    this.#count(config, 1);
  }

  #count({ task: { head }, delivery }: PushConfig, more: 1 | -1): void {
    if (!counts(delivery.state, isTerminal(head.state))) return;
    addToCount(this.#owners, ownerKey(head), more);
    addToCount(this.#ownersOfAll, head.owner, more);
  }

  #moveTo(config: PushConfig, holder: string | undefined): void {
    this.#unindex(config);
    config.holder = holder;
    this.#index(config);
  }

  #index(config: PushConfig): void {
    const { delivery, holder } = config;
    if (delivery.state === DEAD) this.#dead.add(config);
    if (delivery.state !== DUE) return;
    if (holder === undefined) return this.#addDue(config);
    const held = this.#held.get(holder);
    if (held === undefined) this.#held.set(holder, new Set([config]));
    else held.add(config);
  }

  #unindex(config: PushConfig): void {
    const { delivery, holder } = config;
    if (delivery.state === DEAD) this.#dead.delete(config);
    if (delivery.state !== DUE) return;
    if (holder === undefined) return this.#removeDue(config);
    const held = this.#held.get(holder);
    held?.delete(config);
    if (held?.size === 0) this.#held.delete(holder);
  }

  #addDue(config: PushConfig): void {
    this.#due.add(config);
    const list = this.#dueOf.get(config.target) ?? new DueList<PushConfig>();
    list.add(config);
    this.#dueOf.set(config.target, list);
  }

  #removeDue(config: PushConfig): void {
    this.#due.remove(config);
    const list = this.#dueOf.get(config.target);
    list?.remove(config);
    if (list?.isEmpty) this.#dueOf.delete(config.target);
  }

  /** Returns the next target in the order of names, as the other stores do. */
  #targetAfter(target: string | undefined): string | undefined {
    let next: string | undefined;
    for (const each of this.#dueOf.keys()) {
      if ((target === undefined || each > target) && (next === undefined || each < next)) next = each;
    }
    return next;
  }
}

/** A copy of a configuration for a caller. */
export function toStored({ bytes, delivery: { position } }: PushConfig): StoredPushConfig {
  return { bytes: new Uint8Array(bytes), position };
}

/** Configurations of one task after an id, in the order of their ids. */
export function listConfigs(
  task: Pushed | undefined,
  { after, limit }: { readonly after: string; readonly limit: number },
): { configId: string; config: StoredPushConfig }[] {
  return [...(task?.configs?.values() ?? [])]
    .filter(({ configId }) => compareIds(configId, after) > 0)
    .sort((a, b) => compareIds(a.configId, b.configId))
    .slice(0, limit)
    .map((config) => ({ configId: config.configId, config: toStored(config) }));
}

/** Configurations of tasks, in the order of their keys. */
export function scan(
  tasks: Iterable<Pushed>,
  { after, limit }: { readonly after?: PushConfigKey; readonly limit: number },
): (PushConfigKey & { readonly bytes: Uint8Array })[] {
  return inOrder(configsOf(tasks), after)
    .slice(0, limit)
    .map((config) => ({ ...keyOf(config), bytes: new Uint8Array(config.bytes) }));
}

/** A page of the deliveries of tasks, in the order of their keys. */
export function listDeliveries(tasks: Iterable<Pushed>, request: Request<"listDeliveries">): DeliveryPage {
  const { after, limit } = request;
  const found = inOrder(configsOf(tasks), after)
    .map(toDelivery)
    .filter((delivery) => passes(delivery, request));
  const deliveries = found.slice(0, limit);
  const last = deliveries.at(-1);
  const next = last && found.length > limit ? { taskId: last.taskId, configId: last.configId } : undefined;
  return { deliveries, next };
}

/** Replaces the bytes of a configuration, if they are still `from`. */
export function rewrite(config: PushConfig | undefined, { from, to }: Request<"rewritePushConfig">): boolean {
  if (config === undefined) return false;
  const { bytes } = config;
  if (bytes.length !== from.length || bytes.some((byte, i) => byte !== from[i])) return false;
  config.bytes = new Uint8Array(to);
  return true;
}

function configsOf(tasks: Iterable<Pushed>): PushConfig[] {
  return [...tasks].flatMap((task) => [...(task.configs?.values() ?? [])]);
}

/** Configurations after a key, in the order of their keys. */
function inOrder(configs: readonly PushConfig[], after: PushConfigKey | undefined): PushConfig[] {
  return configs
    .filter((config) => after === undefined || compareKeys(keyOf(config), after) > 0)
    .sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
}

function keyOf({ task, configId }: PushConfig): PushConfigKey {
  return { taskId: task.head.taskId, configId };
}

function compareKeys(a: PushConfigKey, b: PushConfigKey): number {
  return compareIds(a.taskId, b.taskId) || compareIds(a.configId, b.configId);
}

function toClaimed(config: PushConfig): ClaimedDelivery {
  const { task, target, claim, delivery } = config;
  const { tenant, owner, position: headPosition } = task.head;
  const { attempts, failingSince } = delivery;
  return { ...keyOf(config), ...toStored(config), tenant, owner, target, headPosition, attempts, failingSince, claim };
}

function toDelivery(config: PushConfig): StoredDelivery {
  const { task, target, delivery, holder } = config;
  const { tenant, owner, position: headPosition } = task.head;
  const { position, attempts, failure = "", failingSince } = delivery;
  const state = deliveryStates[delivery.state];
  const at = state === "idle" ? undefined : delivery.at;
  const counts = { position, headPosition, attempts, failure, failingSince, at, holder };
  return { ...keyOf(config), tenant, owner, target, state, ...counts };
}

function toDead(config: PushConfig): DeadDelivery {
  const { task, target, delivery } = config;
  const { tenant, owner, position: headPosition } = task.head;
  const { failure = "", failingSince, at } = delivery;
  return { ...keyOf(config), ...toStored(config), tenant, owner, target, headPosition, failure, failingSince, at };
}
