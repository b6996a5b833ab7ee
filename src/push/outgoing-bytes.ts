/** Bounds the bytes that are on their way out at once. What has no room waits in line; one that is larger than all room goes alone. */
export class OutgoingBytes {
  readonly #most: number;
  #held = 0;
  readonly #line: { readonly bytes: number; readonly begin: () => void }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether something waits. */
  get isCrowded(): boolean {
    return this.#line.length > 0;
  }

  /** Takes room for so many bytes. @returns undefined where there is room at once, else what to wait for */
  acquire(bytes: number): Promise<void> | undefined {
    if (this.#line.length === 0 && this.#hasRoom(bytes)) {
      this.#held += bytes;
      return undefined;
    }
    return new Promise((begin) => this.#line.push({ bytes, begin }));
  }

  /** Gives it back. */
  release(bytes: number): void {
    this.#held -= bytes;
    for (let next = this.#line[0]; next !== undefined && this.#hasRoom(next.bytes); next = this.#line[0]) {
      this.#line.shift();
      this.#held += next.bytes;
      next.begin();
    }
  }

  #hasRoom(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#most;
  }
}
