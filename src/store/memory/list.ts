import { isTerminal } from "../../task/state.js";
import { compareHeadKeys } from "../order.js";
import type { HeadKey, ListPage, ListRequest, TaskHead } from "../task-store.js";

/** An item with a head. The head may be replaced if its position in the order stays the same. */
export interface Listed {
  head: TaskHead;
}

/** The tasks of one owner in one tenant, in all and per context, so that a list of one context scans no others. */
export class OwnerHeads<T extends Listed> {
  readonly all: OrderedHeads<T> = new OrderedHeads<T>();
  readonly #contexts = new Map<string, OrderedHeads<T>>();

  add(item: T): void {
    const { contextId } = item.head;
    const context = this.#contexts.get(contextId) ?? new OrderedHeads<T>();
    this.#contexts.set(contextId, context);
    this.all.add(item);
    context.add(item);
  }

  remove(item: T): void {
    const { contextId } = item.head;
    const context = this.#contexts.get(contextId);
    this.all.remove(item);
    context?.remove(item);
    if (context?.size === 0) this.#contexts.delete(contextId);
  }

  /** A page, newest first, and how many tasks the filters match in all. */
  page(request: ListRequest): ListPage {
    const list = request.contextId === undefined ? this.all : this.#contexts.get(request.contextId);
    return list?.page(request) ?? { heads: [], total: 0 };
  }

  /** The numbers of a context's tasks, if this one is its newest. */
  newestOf({ contextId, taskId }: TaskHead): { readonly tasks: number; readonly openTasks: number } | undefined {
    const context = this.#contexts.get(contextId);
    const [newest] = context?.newestFirst() ?? [];
    if (context === undefined || newest?.head.taskId !== taskId) return undefined;
    return { tasks: context.size, openTasks: context.countOpen() };
  }

  hasContext(contextId: string): boolean {
    return this.#contexts.has(contextId);
  }
}

/**
 * Heads by status time and id, ascending: new ones come last, where insertion is cheapest. A page is read backwards
 * from the end; without filters its cost is its size.
 */
export class OrderedHeads<T extends Listed> {
  readonly #items: T[] = [];
  readonly #states: number[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** Inserts an item, which must not be present. */
  add(item: T): void {
    this.#items.splice(this.#lowerBound(item.head), 0, item);
    this.#count(item.head.state, 1);
  }

  /** Removes an item, if present. Its sort position and state must be those that it was added with. */
  remove(item: T): void {
    const index = this.#lowerBound(item.head);
    if (this.#items[index] !== item) return;
    this.#items.splice(index, 1);
    this.#count(item.head.state, -1);
  }

  /** The items whose status is older than a time, oldest first, after a cursor. */
  olderThan(time: number, limit: number, after?: HeadKey): T[] {
    const end = this.#lowerBound({ statusTime: time, taskId: "" });
    let begin = 0;
    if (after !== undefined) {
      begin = this.#lowerBound(after);
      if (this.#items[begin]?.head.taskId === after.taskId) begin += 1;
    }
    return this.#items.slice(begin, Math.min(end, begin + limit));
  }

  /** The items, newest first, from before a position on. No item may be added or removed meanwhile. */
  *newestFirst(before?: HeadKey): IterableIterator<T> {
    let index = before === undefined ? this.#items.length : this.#lowerBound(before);
    while (index-- > 0) yield this.#items[index] as T;
  }

  /** A page, newest first, and the total number of matching items, filtered by state or by time. */
  page({ after, statusFrom, limit, state }: Pick<ListRequest, "after" | "statusFrom" | "limit" | "state">): ListPage {
    const oldest = statusFrom === undefined ? 0 : this.#lowerBound({ statusTime: statusFrom, taskId: "" });
    const heads: TaskHead[] = [];
    const newest = after === undefined ? this.#items.length : this.#lowerBound(after);
    for (let index = newest - 1; index >= oldest && heads.length < limit; index--) {
      const head = this.#items[index]?.head;
      if (head !== undefined && (state === undefined || head.state === state)) heads.push(head);
    }
    return { heads, total: this.#total(state, oldest) };
  }

  countOpen(): number {
    return this.#states.reduce((count, tasks, state) => (isTerminal(state) ? count : count + tasks), 0);
  }

  #count(state: number, tasks: number): void {
    // Adds every index up to the state: V8 uses another kind of array for one with holes.
    while (this.#states.length <= state) this.#states.push(0);
    this.#states[state] = (this.#states[state] ?? 0) + tasks;
  }

  #total(state: number | undefined, oldest: number): number {
    if (state === undefined) return this.#items.length - oldest;
    if (oldest === 0) return this.#states[state] ?? 0;
    let count = 0;
    for (let index = oldest; index < this.#items.length; index++) {
      if (this.#items[index]?.head.state === state) count += 1;
    }
    return count;
  }

  /** Index of the first item at or after a sort position. */
  #lowerBound(place: HeadKey): number {
    // Most requests are for the newest items: the search widens from the end.
    let high = this.#items.length;
    let low = high;
    for (let step = 1; low > 0; step *= 2) {
      low = Math.max(0, high - step);
      const head = this.#items[low]?.head;
      if (head !== undefined && compareHeadKeys(head, place) < 0) break;
      high = low;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      const head = this.#items[middle]?.head;
      if (head !== undefined && compareHeadKeys(head, place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function ownerKey({ tenant, owner }: { readonly tenant: string; readonly owner: string }): string {
  return `${tenant.length}:${tenant}${owner}`;
}
