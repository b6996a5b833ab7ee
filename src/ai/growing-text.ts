import { type AgentEvent, artifact } from "../agent/event.js";

/** Separates the texts of two calls of the model. */
const BETWEEN = "\n\n";

/**
 * The artifact with the text of a turn. The text of a call that was interrupted is generated again: as far as it agrees
 * with the stored one, nothing is yielded, and the first difference replaces the artifact.
 */
export class GrowingText {
  readonly #about: { readonly id: string; readonly name: string };
  /** The text of the artifact so far. */
  #stored: string;
  #text = "";
  /** True if the next text begins another call's. */
  #isNext = false;

  constructor(about: { readonly id: string; readonly name: string }, stored: string) {
    this.#about = about;
    this.#stored = stored;
  }

  /** Begins the text of the next call. */
  next(): void {
    this.#isNext = this.#text !== "";
  }

  /** Adds text. Returns the event that stores it, if it is not stored. */
  add(text: string, isLast = false): AgentEvent | undefined {
    if (text === "") return undefined;
    this.#text += this.#isNext ? BETWEEN + text : text;
    this.#isNext = false;
    return this.#stored.startsWith(this.#text) ? undefined : this.#event(isLast);
  }

  /** Returns the event that removes the rest of a longer text that is stored, if any. */
  end(): AgentEvent | undefined {
    return this.#stored === this.#text ? undefined : this.#event(true);
  }

  #event(isLast: boolean): AgentEvent {
    const append = this.#text.startsWith(this.#stored);
    const text = append ? this.#text.slice(this.#stored.length) : this.#text;
    this.#stored = this.#text;
    return artifact({ ...this.#about, append, text, ...(isLast ? { lastChunk: true } : {}) });
  }
}
