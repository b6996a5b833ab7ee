import type { ChildProcess } from "node:child_process";
import { background, pause } from "../core/async.js";
import type { Logger } from "../core/log.js";
import { Inquiries } from "./inquiries.js";
import type { FromWorker, PortName, WorkerRole } from "./messages.js";
import { SharedPort } from "./shared-port.js";
import { StartDelay } from "./start-delay.js";
import { StoreWriter, WRITER_END_MS } from "./store-writer.js";
import { type WorkerEnd, WorkerProcess } from "./worker-process.js";

export interface PrimaryOptions {
  readonly count: number;
  /** Descriptors of open sockets that this process was started with. */
  readonly sockets: WorkerRole["sockets"];
  readonly fork: (role: WorkerRole) => ChildProcess;
  /** Starts the process that writes a store for all workers. */
  readonly forkWriter: () => ChildProcess;
  /** Exit code of a worker whose store must be reopened. */
  readonly restartCode: number;
  readonly logger: Logger;
}

const START_LIMITS = { youngMs: 10_000, maxMs: 10_000 };

/** Maximum number of consecutive starts that may fail while no worker serves calls. */
const MOST_FAILURES = 5;

/** Maximum number of ended holders that a new worker receives. */
const MOST_ENDED = 100;

/** Time beyond its own limits after which a worker that should have ended is killed, in milliseconds. */
const LATE_MS = 2_000;

/** Exit code of a server whose workers cannot be started any more. */
const FAILED_CODE = 1;

/**
 * Starts the workers of a server, replaces those that crash, and joins them: it accepts the connections for all of them
 * and carries their signals. It serves no call itself and opens no store.
 */
export class Primary {
  readonly #options: PrimaryOptions;
  readonly #workers = new Set<WorkerProcess>();
  readonly #ports = new Map<PortName, SharedPort>();
  readonly #inquiries = new Inquiries();
  readonly #writer: StoreWriter;
  readonly #endedHolders: string[] = [];
  readonly #startDelay = new StartDelay(START_LIMITS);
  #number = 0;
  #isEnding = false;
  #replacing: Promise<void> | undefined;
  #isDueAgain = false;
  #onFailure: (code: number) => void = () => {};

  constructor(options: PrimaryOptions) {
    this.#options = options;
    this.#writer = new StoreWriter({ fork: options.forkWriter, logger: options.logger });
  }

  /**
   * Starts one worker, then the others, so that option errors are reported once and one process migrates the store.
   *
   * @returns undefined when it serves calls, or the exit code of a first worker that could not start
   */
  async start(): Promise<number | undefined> {
    const first = this.#begin();
    const end = await this.#readyOrEnded(first);
    if (end !== undefined) {
      await this.#writer.end();
      return this.#isEnding ? 0 : (end.code ?? FAILED_CODE);
    }
    void this.#watch(first);
    for (let more = 1; more < this.#options.count && !this.#isEnding; more++) void this.#watch(this.#begin());
    return undefined;
  }

  /** Calls the listener with an exit code when no worker can be started any more. */
  onFailure(listener: (code: number) => void): void {
    this.#onFailure = listener;
  }

  /** Maximum duration of a graceful shutdown, in milliseconds. */
  get latestMs(): number {
    return Math.max(0, ...[...this.#workers].map(({ latestMs }) => latestMs)) + LATE_MS + WRITER_END_MS;
  }

  /** Makes all workers reload their files. */
  reload(): void {
    for (const worker of this.#workers) worker.send({ type: "reload" });
  }

  /** Shuts all workers down gracefully. Resolves to the exit code of the server, the worst of theirs. */
  async end(signal: NodeJS.Signals): Promise<number> {
    this.#isEnding = true;
    const codes = [...this.#workers].map(async (worker) => {
      worker.isEnding = true;
      worker.send({ type: "end", signal });
      killLate(worker);
      const end = await worker.ended;
      // The signal ends a worker that still loads its code.
      return end.code ?? (end.signal === signal && !worker.isReady ? 0 : FAILED_CODE);
    });
    if (codes.length === 0) this.#closePorts();
    const worst = Math.max(0, ...(await Promise.all(codes)));
    await this.#writer.end();
    this.#closePorts();
    return worst;
  }

  /** Kills all workers. Their tasks are recovered as after a crash. */
  kill(): void {
    for (const worker of this.#workers) worker.kill();
  }

  /**
   * Replaces the workers in turn: each ends after a new one serves calls. If a new worker cannot start, the replacement
   * stops and the remaining workers stay. A call during a replacement replaces all workers once more, because the new
   * ones may have loaded older files.
   */
  replaceAll(): Promise<void> {
    this.#isDueAgain = true;
    this.#replacing ??= this.#replaceWhileDue().finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  async #replaceWhileDue(): Promise<void> {
    while (this.#isDueAgain && !this.#isEnding) {
      this.#isDueAgain = false;
      await this.#replaceOnce();
    }
  }

  async #replaceOnce(): Promise<void> {
    const { logger } = this.#options;
    const old = [...this.#workers].filter(({ isEnding }) => !isEnding);
    logger.info({ workers: old.length }, "replacing the workers in turn");
    for (const worker of old) {
      if (this.#isEnding || worker.isEnding || !this.#workers.has(worker)) continue;
      worker.hasSuccessor = true;
      const next = this.#begin();
      const end = await this.#readyOrEnded(next);
      if (end !== undefined) {
        if (this.#isEnding) return;
        logger.error({ ...end }, "a new worker did not start: the present workers continue");
        if (this.#workers.has(worker)) worker.hasSuccessor = false;
        // The old one has ended meanwhile, and the new one had its place.
        else void this.#watch(next);
        return;
      }
      void this.#watch(next);
      worker.isEnding = true;
      for (const port of this.#ports.values()) port.remove(worker);
      worker.send({ type: "replace" });
      killLate(worker);
      await worker.ended;
    }
    if (!this.#isEnding) logger.info({}, "the workers are replaced");
  }

  #begin(): WorkerProcess {
    const { count, sockets, fork } = this.#options;
    const number = ++this.#number;
    const worker = new WorkerProcess(number, fork({ number, count, sockets }), (message) =>
      this.#hear(worker, message),
    );
    this.#workers.add(worker);
    if (this.#endedHolders.length > 0) worker.send({ type: "ended", holders: this.#endedHolders });
    void worker.ended.then(() => this.#forget(worker));
    return worker;
  }

  /** Resolves to undefined once a worker serves calls, or to its end. */
  #readyOrEnded(worker: WorkerProcess): Promise<WorkerEnd | undefined> {
    return new Promise((resolve) => {
      worker.onReady = () => resolve(undefined);
      void worker.ended.then(resolve);
    });
  }

  /** Starts another worker when this one ends, unless it was asked to end or has a successor. */
  async #watch(worker: WorkerProcess): Promise<void> {
    const end = await worker.ended;
    if (worker.isEnding || this.#isEnding) return;
    const { logger, restartCode } = this.#options;
    if (end.code === restartCode) this.#writer.renew();
    const livedMs = Math.round(performance.now() - worker.began);
    const delayMs = this.#startDelay.afterLife(livedMs);
    const { failures } = this.#startDelay;
    const facts = { worker: worker.number, workerPid: worker.pid, ...end, livedMs };
    if (failures >= MOST_FAILURES && ![...this.#workers].some(({ isReady }) => isReady)) {
      logger.error(
        { ...facts },
        `no worker can be started: ${failures} ended right after their start, and none is running`,
      );
      this.#isEnding = true;
      void this.#writer.end().then(() => this.#onFailure(end.code || FAILED_CODE));
      return;
    }
    logger.error({ ...facts, delayMs }, "a worker has ended; another one takes its place");
    if (worker.hasSuccessor) return;
    if (delayMs > 0) await pause(delayMs, undefined);
    if (!this.#isEnding) void this.#watch(this.#begin());
  }

  #forget(worker: WorkerProcess): void {
    this.#workers.delete(worker);
    for (const port of this.#ports.values()) port.lost(worker);
    this.#closeUnused();
    this.#inquiries.lost(worker);
    if (worker.holder === undefined) return;
    this.#endedHolders.push(worker.holder);
    if (this.#endedHolders.length > MOST_ENDED) this.#endedHolders.shift();
    for (const other of this.#workers) other.send({ type: "ended", holders: this.#endedHolders });
  }

  #hear(worker: WorkerProcess, message: FromWorker): void {
    switch (message.type) {
      case "open":
        void this.#open(worker, message);
        return;
      case "take":
        worker.takes.add(message.port);
        this.#take(worker, message.port);
        return;
      case "stop":
        this.#ports.get(message.port)?.remove(worker);
        this.#closeUnused();
        return;
      case "connection":
        for (const port of this.#ports.values()) if (port.answered(message.id, message.taken)) return;
        return;
      case "checked":
        for (const port of this.#ports.values()) port.checked(worker, message.upTo);
        return;
      case "holder":
        worker.holder = message.holder;
        return;
      case "store":
        this.#writer.ask(message.request, (answer) => worker.send({ type: "store", answer }));
        return;
      case "ready":
        worker.latestMs = message.latestMs;
        worker.isReady = true;
        for (const port of worker.takes) this.#take(worker, port);
        worker.onReady();
        return;
      case "signals":
        for (const other of this.#workers) if (other !== worker) other.signals.send(message.texts);
        return;
      case "ask":
        this.#inquiries.ask(worker, message, [...this.#workers]);
        return;
      case "answer":
        this.#inquiries.answer(worker, message);
    }
  }

  /** A worker that is still starting gets connections only if no other worker takes them. */
  #take(worker: WorkerProcess, name: PortName): void {
    const port = this.#ports.get(name);
    if (!worker.isEnding && (worker.isReady || port?.hasTakers === false)) port?.add(worker);
  }

  async #open(worker: WorkerProcess, { port: name, address }: Extract<FromWorker, { type: "open" }>): Promise<void> {
    let port = this.#ports.get(name);
    if (port === undefined) {
      port = new SharedPort(name, address);
      this.#ports.set(name, port);
    }
    const answer = await port.opened;
    if (answer.error !== undefined && this.#ports.get(name) === port) this.#ports.delete(name);
    worker.send({ type: "opened", port: name, answer });
  }

  /** During shutdown, closes ports without a worker, so that new connections are refused. */
  #closeUnused(): void {
    if (this.#isEnding) for (const port of this.#ports.values()) if (!port.hasTakers) port.close();
  }

  #closePorts(): void {
    for (const port of this.#ports.values()) port.close();
  }
}

function killLate(worker: WorkerProcess): void {
  const timer = background(setTimeout(() => worker.kill(), worker.latestMs + LATE_MS));
  void worker.ended.then(() => clearTimeout(timer));
}
