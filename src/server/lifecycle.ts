import { A2AError } from "../core/error.js";
import type { Engine } from "../engine/engine.js";
import type { Interceptor } from "../service/invoke.js";
import type { TaskStore } from "../store/task-store.js";
import type { Readiness } from "./health.js";

/** From the first call to the last: what a crash left behind is taken over first, the store is closed last. */
export class Lifecycle {
  readonly #engine: Engine;
  readonly #store: TaskStore;
  #readiness: Readiness = "starting";
  #started: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(engine: Engine, store: TaskStore) {
    this.#engine = engine;
    this.#store = store;
  }

  get readiness(): Readiness {
    return this.#readiness;
  }

  /** Takes over what a crash left behind, once. */
  start(): Promise<void> {
    this.#started ??= this.#engine.start().then(() => {
      if (this.#readiness === "starting") this.#readiness = "ready";
    });
    return this.#started;
  }

  /** Lets calls wait until the start is over; the first call begins it where nobody else has. */
  readonly afterStart: Interceptor = (next) => {
    const waitFor = async (): Promise<void> => {
      try {
        await this.start();
      } catch (cause) {
        throw new A2AError("UNAVAILABLE", "The server could not start.", { cause });
      }
    };
    return (invocation) => (this.#readiness === "starting" ? waitFor().then(() => next(invocation)) : next(invocation));
  };

  /** From now on new calls are refused. */
  beginDrain(): void {
    this.#readiness = "draining";
  }

  /** Ends streams and work. What is not done after the grace is stopped, to be taken over at the next start. */
  async stop(graceMs: number): Promise<void> {
    this.beginDrain();
    // A start that is under way has to be over first, or it would begin work behind our back.
    await this.#started?.catch(() => {});
    await this.#engine.drain(graceMs);
  }

  /**
   * Ends streams and work, then what `afterwards` ends, and the store at last, whatever goes wrong before.
   *
   * @throws the first error, when everything else is done.
   */
  close(graceMs: number, afterwards: () => Promise<void> = async () => {}): Promise<void> {
    this.beginDrain();
    this.#closed ??= this.#end(graceMs, afterwards);
    return this.#closed;
  }

  async #end(graceMs: number, afterwards: () => Promise<void>): Promise<void> {
    const errors: unknown[] = [];
    const note = (error: unknown): unknown => errors.push(error);
    await this.stop(graceMs).catch(note);
    await afterwards().catch(note);
    await this.#store.close().catch(note);
    if (errors.length > 0) throw errors[0];
  }
}
