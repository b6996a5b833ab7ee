import { background } from "../core/async.js";
import type { MetricFamily } from "../telemetry/metrics.js";
import { countsOf, summed } from "../telemetry/summed.js";
import { type FromWorker, METRICS_QUESTION } from "./messages.js";
import type { WorkerProcess } from "./worker-process.js";

/** Time for all workers to answer, in milliseconds. */
const ANSWER_MS = 2_000;

interface Inquiry {
  readonly from: WorkerProcess;
  /** Number of the question in that worker. */
  readonly id: number;
  readonly question: string;
  readonly left: Set<WorkerProcess>;
  readonly values: unknown[];
  readonly timer: NodeJS.Timeout;
}

/** Passes the question of a worker to all others, and returns the answers that arrive in time together. */
export class Inquiries {
  readonly #open = new Map<number, Inquiry>();
  #last = 0;
  /** Last counts of workers that have ended, because the counters of a server never decrease. */
  #past: MetricFamily[] = [];

  ask(from: WorkerProcess, { id, question, value }: Extract<FromWorker, { type: "ask" }>, all: WorkerProcess[]): void {
    const others = all.filter((worker) => worker !== from && worker.isReady);
    const own = ++this.#last;
    if (question === METRICS_QUESTION) from.metrics = value as MetricFamily[];
    const timer = background(setTimeout(() => this.#end(own), ANSWER_MS));
    this.#open.set(own, { from, id, left: new Set(others), question, values: [], timer });
    for (const worker of others) worker.send({ type: "question", id: own, question, value });
    if (others.length === 0) this.#end(own);
  }

  answer(worker: WorkerProcess, { id, value }: Extract<FromWorker, { type: "answer" }>): void {
    const inquiry = this.#open.get(id);
    if (inquiry?.left.delete(worker) !== true) return;
    inquiry.values.push(value);
    if (inquiry.question === METRICS_QUESTION && value !== null) worker.metrics = value as MetricFamily[];
    if (inquiry.left.size === 0) this.#end(id);
  }

  /** Stops waiting for the answers of a worker that has ended. */
  lost(worker: WorkerProcess): void {
    this.#past = summed([this.#past, countsOf(worker.metrics)]);
    for (const [id, { from, left }] of this.#open) {
      left.delete(worker);
      if (from === worker || left.size === 0) this.#end(id);
    }
  }

  #end(own: number): void {
    const inquiry = this.#open.get(own);
    if (inquiry === undefined) return;
    this.#open.delete(own);
    clearTimeout(inquiry.timer);
    const { from, id, question, values } = inquiry;
    from.send({ type: "answers", id, values: question === METRICS_QUESTION ? [...values, this.#past] : values });
  }
}
