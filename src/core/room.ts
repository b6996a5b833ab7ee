/** Bounds what is under way at once. What has no room waits in line; what needs more than there is goes alone. */
export class Room {
  readonly #most: number;
  #held = 0;
  readonly #line: { readonly amount: number; readonly begin: () => void }[] = [];

  /** @param most bytes, calls, or whatever is bounded */
  constructor(most: number) {
    this.#most = most;
  }

  /** True while something waits. */
  get isCrowded(): boolean {
    return this.#line.length > 0;
  }

  /** Takes so much room. @returns undefined where there is room at once, else a promise that resolves when there is */
  acquire(amount: number): Promise<void> | undefined {
    if (this.#line.length === 0 && this.#hasRoom(amount)) {
      this.#held += amount;
      return undefined;
    }
    return new Promise((begin) => this.#line.push({ amount, begin }));
  }

  /** Gives it back. */
  release(amount: number): void {
    this.#held -= amount;
    for (let next = this.#line[0]; next !== undefined && this.#hasRoom(next.amount); next = this.#line[0]) {
      this.#line.shift();
      this.#held += next.amount;
      next.begin();
    }
  }

  #hasRoom(amount: number): boolean {
    return this.#held === 0 || this.#held + amount <= this.#most;
  }
}
