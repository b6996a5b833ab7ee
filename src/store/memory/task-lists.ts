import { decrement, increment } from "../../core/maps.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import { compareIds, headKeyOf, rangeOf } from "../order.js";
import type { Request } from "../request.js";
import type {
  ContextSummary,
  ContextsPage,
  ConversationKey,
  HeadsPage,
  ListPage,
  OwnerUsage,
  ScopeFilter,
  TaskHead,
  TaskScope,
} from "../task-store.js";
import { type Listed, OrderedHeads, OwnerHeads, ownerKey } from "./list.js";

/** Tasks that one page examines at most. A longer page would hold the event loop. */
const MAX_EXAMINED = 100_000;

/** Usage that lists of contexts and owners show and that the tasks do not tell. */
export interface Usages {
  readonly stateBytes: (context: ConversationKey) => number;
  readonly pushConfigs: (of: TaskScope) => number;
}

/** All tasks, those of each owner, the finished and the interrupted ones, each in the order of lists. */
export class TaskLists<T extends Listed> {
  /** Oldest first. */
  readonly finished: OrderedHeads<T> = new OrderedHeads<T>();
  /** Oldest first. */
  readonly interrupted: OrderedHeads<T> = new OrderedHeads<T>();
  readonly #all = new OrderedHeads<T>();
  readonly #owners = new Map<string, TaskScope & { readonly tasks: OwnerHeads<T> }>();
  /** The number of unfinished tasks of each owner, across tenants. */
  readonly #open = new Map<string, number>();
  /** The owners in their order, until one comes or goes. */
  #sorted: readonly TaskScope[] | undefined;

  get openTasks(): number {
    return [...this.#open.values()].reduce((sum, count) => sum + count, 0);
  }

  add(item: T): void {
    const { tenant, owner, state } = item.head;
    const key = ownerKey(item.head);
    let of = this.#owners.get(key);
    if (of === undefined) {
      of = { tenant, owner, tasks: new OwnerHeads<T>() };
      this.#owners.set(key, of);
      this.#sorted = undefined;
    }
    of.tasks.add(item);
    this.#all.add(item);
    if (isTerminal(state)) this.finished.add(item);
    else increment(this.#open, owner);
    if (isInterrupted(state)) this.interrupted.add(item);
  }

  /** As `OrderedHeads.remove`. An owner stays until `forgetEmpty`. */
  remove(item: T): void {
    const { owner, state } = item.head;
    this.#owners.get(ownerKey(item.head))?.tasks.remove(item);
    this.#all.remove(item);
    if (isTerminal(state)) this.finished.remove(item);
    else decrement(this.#open, owner);
    if (isInterrupted(state)) this.interrupted.remove(item);
  }

  /** Forgets an owner without tasks. */
  forgetEmpty(of: TaskScope): void {
    const key = ownerKey(of);
    if (this.#owners.get(key)?.tasks.all.size !== 0) return;
    this.#owners.delete(key);
    this.#sorted = undefined;
  }

  hasContext(head: TaskHead): boolean {
    return this.#owners.get(ownerKey(head))?.tasks.hasContext(head.contextId) === true;
  }

  list(request: Request<"list">): ListPage {
    return this.#owners.get(ownerKey(request))?.tasks.page(request) ?? { heads: [], total: 0 };
  }

  /** Number of an owner's unfinished tasks, under one tenant or all. */
  countOpen({ owner, tenant }: { readonly owner: string; readonly tenant?: string | undefined }): number {
    if (tenant === undefined) return this.#open.get(owner) ?? 0;
    return this.#owners.get(ownerKey({ owner, tenant }))?.tasks.all.countOpen() ?? 0;
  }

  /** See `OperatorStore`. */
  listHeads(request: Request<"listHeads">): HeadsPage {
    const { tenants, owner, limit } = request;
    const only = tenants?.length === 1 ? tenants[0] : undefined;
    const isOne = only !== undefined && owner !== undefined;
    const list = isOne ? this.#owners.get(ownerKey({ tenant: only, owner }))?.tasks.all : this.#all;
    const heads: TaskHead[] = [];
    let examined = 0;
    for (const { head } of list?.newestFirst(rangeOf(request).before) ?? []) {
      if (head.statusTime < (request.statusFrom ?? Number.NEGATIVE_INFINITY)) break;
      if (matches(head, request)) heads.push(head);
      if (heads.length === limit || ++examined === MAX_EXAMINED) return { heads, next: headKeyOf(head) };
    }
    return { heads };
  }

  /** See `OperatorStore`. */
  listContexts({ after, limit, ...filter }: Request<"listContexts">, usages: Usages): ContextsPage {
    const contexts: ContextSummary[] = [];
    let examined = 0;
    for (const { head } of this.#all.newestFirst(after)) {
      if (matches(head, filter)) {
        const { tenant, owner, contextId, statusTime } = head;
        const context = this.#owners.get(ownerKey(head))?.tasks.newestOf(head);
        if (context !== undefined) {
          const stateBytes = usages.stateBytes(head);
          contexts.push({ tenant, owner, contextId, ...context, statusTime, stateBytes });
        }
      }
      if (contexts.length === limit || ++examined === MAX_EXAMINED) return { contexts, next: headKeyOf(head) };
    }
    return { contexts };
  }

  /** See `OperatorStore`. */
  listOwners({ tenant, after, limit }: Request<"listOwners">, usages: Usages): OwnerUsage[] {
    this.#sorted ??= [...this.#owners.values()].sort(compareScopes);
    const found = this.#sorted.filter(
      (of) => (tenant === undefined || of.tenant === tenant) && (after === undefined || compareScopes(of, after) > 0),
    );
    return found.slice(0, limit).map(({ tenant, owner }) => {
      const all = this.#owners.get(ownerKey({ tenant, owner }))?.tasks.all;
      const [newest] = all?.newestFirst() ?? [];
      return {
        tenant,
        owner,
        tasks: all?.size ?? 0,
        openTasks: all?.countOpen() ?? 0,
        pushConfigs: usages.pushConfigs({ tenant, owner }),
        statusTime: newest?.head.statusTime ?? 0,
      };
    });
  }
}

type Filter = ScopeFilter & Pick<Request<"listHeads">, "contextId" | "states">;

function matches(head: TaskHead, { tenants, owner, contextId, states = [] }: Filter): boolean {
  return (
    (tenants === undefined || tenants.includes(head.tenant)) &&
    (owner === undefined || owner === head.owner) &&
    (contextId === undefined || contextId === head.contextId) &&
    (states.length === 0 || states.includes(head.state))
  );
}

function compareScopes(a: TaskScope, b: TaskScope): number {
  return compareIds(a.tenant, b.tenant) || compareIds(a.owner, b.owner);
}
