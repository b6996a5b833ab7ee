/** The share of all places that deliveries to hosts may have that are not proven. */
const SHARE = 2;

/** The share of those that one owner may have, where owners have names. */
const SHARE_OF_OWNER = 4;

/**
 * Counts the deliveries to hosts that have taken nothing yet. They have a part of the places, and each owner a part of that: hosts that
 * stall keep notifications neither from those that do not, nor from new ones of other owners.
 */
export class Trials {
  readonly #max: number;
  readonly #maxOfOwner: number;
  readonly #byOwner = new Map<string, number>();
  #count = 0;

  /** @param places deliveries at once */
  constructor(places: number) {
    this.#max = Math.max(1, Math.floor(places / SHARE));
    this.#maxOfOwner = Math.max(1, Math.floor(this.#max / SHARE_OF_OWNER));
  }

  /** Whether there is room for one more of this owner; callers without a name are not told apart. */
  hasRoom(owner: string): boolean {
    if (this.#count >= this.#max) return false;
    return owner === "" || (this.#byOwner.get(owner) ?? 0) < this.#maxOfOwner;
  }

  /** Notes one. @returns ends it, once */
  begin(owner: string): () => void {
    this.#count++;
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count--;
      const left = (this.#byOwner.get(owner) ?? 1) - 1;
      if (left > 0) this.#byOwner.set(owner, left);
      else this.#byOwner.delete(owner);
    };
  }
}
