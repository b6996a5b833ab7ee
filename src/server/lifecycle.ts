import { background } from "../core/background.js";
import { callAll } from "../core/call-all.js";
import { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import { within } from "../core/within.js";
import type { Engine } from "../engine/engine.js";
import type { Interceptor } from "../service/invoke.js";
import type { StoreStatus } from "../store/health.js";
import type { TaskStore } from "../store/task-store.js";
import type { Readiness } from "./health.js";

/** What a lifecycle is of. */
export interface LifecycleOptions {
  readonly engine: Engine;
  readonly store: TaskStore;
  readonly limits: Pick<Limits, "storeRecoveryMs" | "cancelGraceMs" | "closeTimeoutMs">;
  readonly logger: Logger;
}

/**
 * From the first call to the last: what a crash left behind is taken over meanwhile, the store is closed last. In between
 * it tells whether calls are served, by what the store says of itself.
 */
export class Lifecycle {
  readonly #engine: Engine;
  readonly #store: TaskStore;
  readonly #options: LifecycleOptions;
  readonly #listeners = new Set<(readiness: Readiness) => void>();
  #phase: Exclude<Readiness, "unavailable"> = "starting";
  #lastReadiness: Readiness = "starting";
  #started: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  #isUnhealthy = false;
  #giveUpTimer: NodeJS.Timeout | undefined;
  readonly #removeListener: () => void;
  /** See `Server.failure`. */
  readonly failure: Promise<Error>;
  #fail: (error: Error) => void = () => {};

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#engine = options.engine;
    this.#store = options.store;
    this.failure = new Promise((resolve) => {
      this.#fail = resolve;
    });
    this.#removeListener = options.store.health.onChange((status) => this.#onStoreStatus(status));
    const { status } = options.store.health;
    if (!status.healthy) this.#onStoreStatus(status);
  }

  get readiness(): Readiness {
    return this.#phase === "ready" && !this.#store.health.status.healthy ? "unavailable" : this.#phase;
  }

  /** How many agents are at work for a task. */
  get running(): number {
    return this.#engine.running;
  }

  /** Calls back at every change of the readiness. The result takes the wish back. */
  onReadiness(listener: (readiness: Readiness) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Starts the engine, once. @throws when it was closed: what is closed stays so. */
  start(): Promise<void> {
    if (this.#phase === "draining") return Promise.reject(new Error(CLOSED));
    this.#started ??= this.#engine.start().then(() => {
      if (this.#phase === "starting") this.#enter("ready");
    });
    return this.#started;
  }

  #enter(phase: Exclude<Readiness, "unavailable">): void {
    this.#phase = phase;
    this.#notify();
  }

  #notify(): void {
    const { readiness } = this;
    if (readiness === this.#lastReadiness) return;
    this.#lastReadiness = readiness;
    callAll([...this.#listeners], readiness);
  }

  /** One line of the log for each change, however many calls it concerns. */
  #onStoreStatus(status: StoreStatus): void {
    const { limits, logger } = this.#options;
    if (status.healthy) {
      logger.info({}, "the task store is well again");
    } else if (!this.#isUnhealthy) {
      logger.error({ reason: status.reason }, "the task store is out of order: the server is not ready, writes fail");
    }
    this.#isUnhealthy = !status.healthy;
    if (status.healthy || !status.restartHelps) {
      clearTimeout(this.#giveUpTimer);
      this.#giveUpTimer = undefined;
    } else {
      this.#giveUpTimer ??= background(setTimeout(() => this.#giveUp(), limits.storeRecoveryMs));
    }
    this.#notify();
  }

  #giveUp(): void {
    const { status } = this.#store.health;
    if (!status.healthy) this.#fail(new Error(`The task store is out of order. ${status.reason}`));
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
    return (invocation) => (this.#phase === "starting" ? waitFor().then(() => next(invocation)) : next(invocation));
  };

  /** From now on new calls are refused. */
  beginDrain(): void {
    this.#enter("draining");
  }

  /** Ends as a killed process does: nothing more is stored, and nobody is waited for. */
  abandon(): void {
    this.beginDrain();
    this.#engine.abandon();
    this.#removeListener();
  }

  /** Ends streams and work. What is not done after the grace is stopped, to be taken over at the next start. */
  async stop(graceMs: number): Promise<void> {
    this.beginDrain();
    // A start that is under way has to be over first, or it would begin work behind our back.
    await this.#started?.catch(() => {});
    await this.#engine.drain(graceMs);
  }

  /**
   * Ends streams and work, then what `afterwards` ends, and the store at last, whatever goes wrong before. A store that
   * does not answer is waited for until `closeTimeoutMs` after the grace.
   *
   * @throws the first error, when everything else is done; one that says what was left behind.
   */
  close(graceMs: number, afterwards: () => Promise<void> = async () => {}): Promise<void> {
    this.beginDrain();
    this.#closed ??= this.#end(graceMs, afterwards);
    return this.#closed;
  }

  async #end(graceMs: number, afterwards: () => Promise<void>): Promise<void> {
    const { cancelGraceMs, closeTimeoutMs } = this.#options.limits;
    const latest = performance.now() + graceMs + Math.min(LEAST_MS, cancelGraceMs) + closeTimeoutMs;
    const errors: unknown[] = [];
    const note = (error: unknown): unknown => errors.push(error);
    const stopped = await within(latest - performance.now(), this.stop(graceMs).catch(note));
    const left = stopped ? 0 : this.#engine.abandon();
    await afterwards().catch(note);
    // What was done in time by others may have taken all of it.
    const closeMs = Math.max(latest - performance.now(), Math.min(LEAST_MS, closeTimeoutMs));
    const closed = await within(closeMs, this.#store.close().catch(note));
    if (!stopped || !closed) errors.unshift(new Error(leftBehind(left, closed)));
    clearTimeout(this.#giveUpTimer);
    this.#removeListener();
    if (errors.length > 0) throw errors[0];
  }
}

const CLOSED = "This instance is closed and does not start again: make a new one, with a new store (createA2A).";

/** What agents get that are stopped, and a store that closes, at the least, in milliseconds. */
const LEAST_MS = 1_000;

function leftBehind(executions: number, closed: boolean): string {
  const parts = closed ? [] : ["it is not known to be closed"];
  if (executions > 0) {
    const what = executions === 1 ? "1 execution was" : `${executions} executions were`;
    parts.push(`${what} left for the next start`);
  }
  return `The task store did not answer${parts.length === 0 ? "" : `: ${parts.join(", and ")}`}.`;
}
