/** Something that is held for several users, and freed when the last one has released it. */
export class SharedHold {
  readonly #free: () => void;
  #users = 1;

  constructor(free: () => void) {
    this.#free = free;
  }

  /** Adds a user, who calls `release` once. */
  share(): this {
    this.#users++;
    return this;
  }

  release(): void {
    if (--this.#users === 0) this.#free();
  }
}
