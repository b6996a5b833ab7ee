import { isTerminal } from "../../task/state.js";
import type { ListPage, ListRequest, TaskHead } from "../task-store.js";

/** Something that has a head, which may be replaced as long as its place in the order stays the same. */
export interface Listed {
  head: TaskHead;
}

/** The place of a head in a list. */
type Place = Pick<TaskHead, "statusTime" | "taskId">;

/**
 * Heads in the order of their status time and id, ascending: new ones come last, where inserting costs least. A page
 * is read from the end backwards; without filters it costs what it holds.
 */
export class OrderedHeads<T extends Listed> {
  readonly #items: T[] = [];

  /** Puts an item at its place; it must not be in already. */
  add(item: T): void {
    this.#items.splice(this.#firstNotBefore(item.head), 0, item);
  }

  /** Takes an item out, if it is in. Its place must be the one that it was added at. */
  remove(item: T): void {
    const index = this.#firstNotBefore(item.head);
    if (this.#items[index] === item) this.#items.splice(index, 1);
  }

  /** The items whose status is older than a time, the oldest first, from behind a place on. */
  olderThan(time: number, limit: number, after?: Place): T[] {
    const end = this.#firstNotBefore({ statusTime: time, taskId: "" });
    let begin = 0;
    if (after !== undefined) {
      begin = this.#firstNotBefore(after);
      if (this.#items[begin]?.head.taskId === after.taskId) begin += 1;
    }
    return this.#items.slice(begin, Math.min(end, begin + limit));
  }

  /** A page, newest first, and how many items the filters match in all. */
  page(request: ListRequest): ListPage {
    const { after, statusFrom, limit } = request;
    const oldest = statusFrom === undefined ? 0 : this.#firstNotBefore({ statusTime: statusFrom, taskId: "" });
    const heads: TaskHead[] = [];
    const newest = after === undefined ? this.#items.length : this.#firstNotBefore(after);
    for (let index = newest - 1; index >= oldest && heads.length < limit; index--) {
      const head = this.#items[index]?.head;
      if (head !== undefined && matches(head, request)) heads.push(head);
    }
    return { heads, total: this.#count(request, oldest) };
  }

  /** How many items are not over. */
  countOpen(): number {
    return this.#items.reduce((count, { head }) => (isTerminal(head.state) ? count : count + 1), 0);
  }

  #count(request: ListRequest, oldest: number): number {
    if (request.contextId === undefined && request.state === undefined) return this.#items.length - oldest;
    let count = 0;
    for (let index = oldest; index < this.#items.length; index++) {
      const head = this.#items[index]?.head;
      if (head !== undefined && matches(head, request)) count += 1;
    }
    return count;
  }

  /** Index of the first item at or after a place. */
  #firstNotBefore(place: Place): number {
    // Most places that are asked for are among the newest: the search widens from there.
    let high = this.#items.length;
    let low = high;
    for (let step = 1; low > 0; step *= 2) {
      low = Math.max(0, high - step);
      const head = this.#items[low]?.head;
      if (head !== undefined && comesBefore(head, place)) break;
      high = low;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      const head = this.#items[middle]?.head;
      if (head !== undefined && comesBefore(head, place)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function comesBefore(a: Place, b: Place): boolean {
  return a.statusTime < b.statusTime || (a.statusTime === b.statusTime && compareIds(a.taskId, b.taskId) < 0);
}

function matches(head: TaskHead, { contextId, state }: ListRequest): boolean {
  return (contextId === undefined || head.contextId === contextId) && (state === undefined || head.state === state);
}

/**
 * Compares ids by the bytes of their UTF-8, as every store does. JavaScript compares UTF-16, which differs for
 * characters beyond U+FFFF alone: their halves sort below U+E000 to U+FFFF and belong above.
 */
export function compareIds(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  return isHalf ? unit + 0x10000 : unit;
}

/** What the tasks of one owner in one tenant are found by. */
export function ownerKey({ tenant, owner }: { readonly tenant: string; readonly owner: string }): string {
  return `${tenant.length}:${tenant}${owner}`;
}
