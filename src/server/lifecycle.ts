import type { AuditRecorder } from "../audit/audit.js";
import { background, within } from "../core/async.js";
import { A2AError } from "../core/error.js";
import { callAll } from "../core/event-loop.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { Engine } from "../engine/engine.js";
import type { ServiceInterceptor } from "../service/invoke.js";
import type { Signals } from "../signals/signals.js";
import type { StoreStatus } from "../store/health.js";
import type { TaskStore } from "../store/task-store.js";
import type { Tracing } from "../telemetry/tracing.js";
import type { Readiness } from "./health.js";
import type { PushDelivery } from "./push-delivery.js";

/** Time for the store to answer and close after the grace period; then `close` rejects. */
export const storeClose = { timeoutMs: 5_000 } as const;

/** Parts that a lifecycle starts, watches and closes. */
interface LifecycleOptions {
  readonly engine: Engine;
  readonly store: TaskStore;
  /** Closed before the store. */
  readonly signals?: Signals | undefined;
  readonly limits: Pick<Limits, "storeRecoveryMs" | "cancelGraceMs">;
  readonly logger: Logger;
  /** Records start and end; flushed at the end. */
  readonly audit?: AuditRecorder | undefined;
  /** Starts and stops with the engine. */
  readonly push?: PushDelivery | undefined;
  /** Calls of other agents, closed after all agents have stopped. */
  readonly outgoing?: { close(): Promise<void> } | undefined;
  /** Creates spans from the start on; exports the last ones at the end. */
  readonly tracing?: Tracing | undefined;
  /** Prepares parts before the first call. If it fails, the start fails. */
  readonly prepare?: (() => Promise<void>) | undefined;
}

/**
 * The lifecycle of a server from start to close. It starts the engine, which recovers interrupted tasks in the
 * background, reports readiness, which includes the store's health, and closes the store last.
 */
export class Lifecycle {
  readonly #engine: Engine;
  readonly #store: TaskStore;
  readonly #options: LifecycleOptions;
  readonly #listeners = new Set<(readiness: Readiness) => void>();
  #phase: Exclude<Readiness, "unavailable"> = "starting";
  #lastReadiness: Readiness = "starting";
  #started: Promise<void> | undefined;
  /** The steps of the start that remain. */
  readonly #steps: (() => unknown)[];
  #closed: Promise<void> | undefined;
  #refuses = false;
  #isUnhealthy = false;
  #failureTimer: NodeJS.Timeout | undefined;
  readonly #removeListener: () => void;
  readonly #failure = new AbortController();

  constructor(options: LifecycleOptions) {
    const { engine, store, tracing, prepare, push } = options;
    this.#options = options;
    this.#engine = engine;
    this.#store = store;
    this.#steps = [() => tracing?.start(), () => prepare?.(), () => engine.start(), () => push?.start()];
    this.#removeListener = store.health.onChange((status) => this.#onStoreStatus(status));
    const { status } = store.health;
    if (!status.healthy) this.#onStoreStatus(status);
  }

  get readiness(): Readiness {
    return this.#phase === "ready" && !this.#store.health.status.healthy ? "unavailable" : this.#phase;
  }

  get running(): number {
    return this.#engine.running;
  }

  get failureSignal(): AbortSignal {
    return this.#failure.signal;
  }

  /** Calls the listener at every change of the readiness. The returned function removes it. */
  onReadiness(listener: (readiness: Readiness) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Starts the engine, once. After a failure the next call tries again. It rejects after `close`: a closed instance does
   * not start again.
   */
  start(): Promise<void> {
    if (this.#phase === "draining") return Promise.reject(new Error(CLOSED));
    this.#started ??= this.#begin();
    return this.#started;
  }

  async #begin(): Promise<void> {
    try {
      for (let step = this.#steps[0]; step !== undefined; step = this.#steps[0]) {
        await step();
        this.#steps.shift();
      }
    } catch (error) {
      // The next call tries again, from the step that failed.
      this.#started = undefined;
      throw error;
    }
    this.#options.audit?.record({ event: "server.started" });
    if (this.#phase === "starting") this.#enter("ready");
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

  /** Logs one line per change of the store's health, independent of the number of affected calls. */
  #onStoreStatus(status: StoreStatus): void {
    const { limits, logger } = this.#options;
    if (status.healthy) {
      logger.info({}, "the task store works again");
    } else if (!this.#isUnhealthy) {
      logger.error({ reason: status.reason }, "the task store is unavailable: the server is not ready, writes fail");
    }
    this.#isUnhealthy = !status.healthy;
    if (status.healthy || !status.restartHelps) {
      clearTimeout(this.#failureTimer);
      this.#failureTimer = undefined;
    } else {
      this.#failureTimer ??= background(setTimeout(() => this.#declareFailed(), limits.storeRecoveryMs));
    }
    this.#notify();
  }

  #declareFailed(): void {
    const { status } = this.#store.health;
    if (!status.healthy) this.#failure.abort(new Error(`The task store is unavailable. ${status.reason}`));
  }

  /** Delays calls until the start is complete. The first call begins the start if `start` was not called. */
  readonly afterStart: ServiceInterceptor = (next) => {
    const waitFor = async (): Promise<void> => {
      try {
        await this.start();
      } catch (cause) {
        throw new A2AError("UNAVAILABLE", "The server could not start.", { cause });
      }
    };
    return (invocation) => (this.#phase === "starting" ? waitFor().then(() => next(invocation)) : next(invocation));
  };

  /** True once new calls are refused. */
  get refuses(): boolean {
    return this.#refuses;
  }

  /** Reports that the server is draining. It still accepts calls. */
  announceDrain(): void {
    this.#enter("draining");
  }

  /** Begins to refuse new calls. */
  beginDrain(): void {
    this.#refuses = true;
    this.#enter("draining");
  }

  /** Ends like a killed process: stores nothing more and waits for nothing. */
  abandon(): void {
    this.beginDrain();
    this.#engine.abandon();
    this.#options.push?.abandon();
    this.#removeListener();
  }

  /** Ends streams and work. Work that exceeds the grace period is stopped and recovered at the next start. */
  async stop(graceMs: number): Promise<void> {
    this.beginDrain();
    // Waits for a start in progress, which would begin work after the drain otherwise.
    await this.#started?.catch(() => {});
    await Promise.all([this.#engine.drain(graceMs), this.#options.push?.drain(graceMs)]);
  }

  /**
   * Ends streams and work, then runs `afterwards`, and closes the store last, even if an earlier step fails. It waits
   * for a store that does not answer until `storeClose.timeoutMs` after the grace period.
   *
   * @throws the first error, after all other steps; if the store did not answer, an error that names the unfinished
   * work.
   */
  close(graceMs: number, afterwards: () => Promise<void> = async () => {}): Promise<void> {
    this.beginDrain();
    this.#closed ??= this.#end(graceMs, afterwards);
    return this.#closed;
  }

  async #end(graceMs: number, afterwards: () => Promise<void>): Promise<void> {
    const { cancelGraceMs } = this.#options.limits;
    const latest = performance.now() + graceMs + Math.min(LEAST_MS, cancelGraceMs) + storeClose.timeoutMs;
    const errors: unknown[] = [];
    const note = (error: unknown): unknown => errors.push(error);
    const stopped = await within(latest - performance.now(), this.stop(graceMs).catch(note));
    const left = stopped ? 0 : this.#engine.abandon();
    if (!stopped) this.#options.push?.abandon();
    const { outgoing, signals } = this.#options;
    await Promise.all([afterwards().catch(note), outgoing?.close().catch(note), signals?.close()]);
    // The earlier steps may have used all of the time.
    const closeMs = Math.max(latest - performance.now(), Math.min(LEAST_MS, storeClose.timeoutMs));
    const closed = await within(closeMs, this.#store.close().catch(note));
    if (!stopped || !closed) errors.unshift(new Error(leftBehind(left, closed)));
    clearTimeout(this.#failureTimer);
    this.#removeListener();
    const { audit } = this.#options;
    audit?.flush();
    const failed = errors.length > 0 || this.#failure.signal.aborted;
    audit?.record({ event: "server.stopped", ...(failed && { outcome: "failure" }) });
    await this.#options.tracing?.end();
    if (errors.length > 0) throw errors[0];
  }
}

const CLOSED = "This instance is closed and does not start again: create a new one, with a new store (createA2A).";

/** Minimum time for stopped agents and for closing the store, in milliseconds. */
const LEAST_MS = 1_000;

function leftBehind(executions: number, closed: boolean): string {
  const parts = closed ? [] : ["it is not known to be closed"];
  if (executions > 0) {
    const what = executions === 1 ? "1 execution was" : `${executions} executions were`;
    parts.push(`${what} left for the next start`);
  }
  return `The task store did not answer${parts.length === 0 ? "" : `: ${parts.join(", and ")}`}.`;
}
