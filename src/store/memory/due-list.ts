import { defined } from "../../core/members.js";

/** An item that is due at a time, which must not change while it is in the list. */
interface Due {
  readonly delivery: { readonly at: number };
}

interface Item<T> {
  readonly at: number;
  /** Breaks ties: of items due at the same time, the first added comes first. */
  readonly order: number;
  readonly due: T;
}

/** Due items, earliest first. */
export class DueList<T extends Due> {
  /** Items in descending order, so that removing the first item moves no others. */
  readonly #items: Item<T>[] = [];
  readonly #orders = new Map<T, number>();
  #order = 0;

  get first(): T | undefined {
    return this.#items.at(-1)?.due;
  }

  /** Items that are due after a time. */
  after(time: number): T[] {
    return this.#items.slice(0, this.#place(time, -1)).map(({ due }) => due);
  }

  get size(): number {
    return this.#items.length;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** The first items that are due at a time, at most `limit`. */
  due(now: number, limit: number): T[] {
    const found: T[] = [];
    for (let index = this.#items.length - 1; index >= 0 && found.length < limit; index--) {
      const { at, due } = defined(this.#items[index]);
      if (at > now) break;
      found.push(due);
    }
    return found;
  }

  add(due: T): void {
    const item = { at: due.delivery.at, order: this.#order++, due };
    this.#orders.set(due, item.order);
    this.#items.splice(this.#place(item.at, item.order), 0, item);
  }

  remove(due: T): void {
    const order = this.#orders.get(due);
    if (order === undefined) return;
    this.#orders.delete(due);
    this.#items.splice(this.#place(due.delivery.at, order), 1);
  }

  /** Index of the first item that is not due later. */
  #place(at: number, order: number): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = defined(this.#items[middle]);
      if (item.at > at || (item.at === at && item.order > order)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
