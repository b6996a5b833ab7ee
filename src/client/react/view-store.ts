/** Minimum time between two updates of a page during a stream, in milliseconds. */
const FRAME_MS = 16;

/**
 * A changing value for `useSyncExternalStore`: readers are notified at most once per frame, or at once of important
 * changes.
 */
export abstract class ViewStore<View> {
  #view: View;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(view: View) {
    this.#view = view;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly view = (): View => this.#view;

  /** Returns the current value. Called once per notification. */
  protected abstract make(): View;

  /** Notifies readers of a minor change with the next frame. */
  protected changed(): void {
    this.#timer ??= setTimeout(() => this.flush(), FRAME_MS);
  }

  /** Notifies readers of an important change now. */
  protected flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#view = this.make();
    for (const listener of [...this.#listeners]) listener();
  }
}
