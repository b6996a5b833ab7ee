import { membersOf } from "../../../../src/core/members.js";

/** Components that a surface may draw, those of lists counted for each item. */
const MAX_DRAWN = 2_000;

/** Levels of components, and values in their descriptions. */
const MAX_LEVELS = 50;
const MAX_VALUES = 20_000;

/** Properties that name other components. */
const naming = /^(?:child|children|componentId|content|trigger)$/;

interface Named {
  readonly ids: readonly string[];
  readonly isList: boolean;
}

/** Counts the nodes that the surfaces of a task draw. A few components can name each other so often that a page hangs. */
export class SurfaceSize {
  readonly #components = new Map<string, Named>();
  #values = 0;
  #longest = 1;

  /**
   * Takes messages before they are processed.
   *
   * @throws RangeError if the surface draws too much
   */
  add(messages: readonly unknown[]): void {
    for (const message of messages) {
      const { updateComponents, updateDataModel } = membersOf(message);
      const { surfaceId, components } = membersOf(updateComponents);
      if (Array.isArray(components)) for (const each of components) this.#addComponent(surfaceId, each);
      const { value } = membersOf(updateDataModel);
      this.#walk({ value }, 0, (_name, each) => {
        if (Array.isArray(each)) this.#longest = Math.max(this.#longest, each.length);
      });
    }
    const known = new Map<string, number>();
    for (const id of this.#components.keys()) {
      if (this.#drawn(id, known, 0) > MAX_DRAWN) throw tooLarge();
    }
  }

  #addComponent(surfaceId: unknown, component: unknown): void {
    const ids: string[] = [];
    let isList = false;
    this.#values += this.#walk(component, 0, (name, value) => {
      if (!naming.test(name)) return;
      if (name === "componentId") isList = true;
      for (const id of Array.isArray(value) ? value : [value]) {
        if (typeof id === "string") ids.push(keyOf(surfaceId, id));
      }
    });
    if (this.#values > MAX_VALUES) throw tooLarge();
    const { id } = membersOf(component);
    if (typeof id === "string") this.#components.set(keyOf(surfaceId, id), { ids, isList });
  }

  /** Visits the members of a value, and returns how many values it has. */
  #walk(value: unknown, level: number, visit: (name: string, value: unknown) => void): number {
    if (typeof value !== "object" || value === null) return 1;
    if (level > MAX_LEVELS) throw tooLarge();
    let count = 1;
    for (const [name, each] of Object.entries(value)) {
      visit(name, each);
      count += this.#walk(each, level + 1, visit);
    }
    return count;
  }

  #drawn(id: string, known: Map<string, number>, level: number): number {
    const found = known.get(id);
    if (found !== undefined) return found;
    const component = this.#components.get(id);
    if (component === undefined) return 0;
    if (level > MAX_LEVELS) return Number.POSITIVE_INFINITY;
    const inside = component.ids.reduce((sum, each) => sum + this.#drawn(each, known, level + 1), 0);
    const drawn = 1 + inside * (component.isList ? this.#longest : 1);
    known.set(id, drawn);
    return drawn;
  }
}

const keyOf = (surfaceId: unknown, id: string): string => `${String(surfaceId)}/${id}`;

function tooLarge(): RangeError {
  return new RangeError("It draws too much.");
}
