/** Bounds the work under way. Work without room waits in line; work that needs more than the whole room goes alone. */
export class Room {
  readonly #most: number;
  #held = 0;
  readonly #line: { readonly amount: number; readonly begin: () => void }[] = [];

  /** @param most the size of the room, in bytes or calls */
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
