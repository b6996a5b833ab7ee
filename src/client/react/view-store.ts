/** Between two changes that a page is shown while a stream runs, in milliseconds. */
const FRAME_MS = 16;

/** A value that changes, for `useSyncExternalStore`: readers hear of changes at most once a frame, of important ones at once. */
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

  /** The value as it is now. Called once for each time that readers hear of a change. */
  protected abstract make(): View;

  /** Something has changed a little: readers hear of it soon. */
  protected changed(): void {
    this.#timer ??= setTimeout(() => this.flush(), FRAME_MS);
  }

  /** Something important has changed: readers hear of it now. */
  protected flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#view = this.make();
    for (const listener of [...this.#listeners]) listener();
  }
}
