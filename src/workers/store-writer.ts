import type { ChildProcess } from "node:child_process";
import { background } from "../core/async.js";
import type { Logger } from "../core/log.js";
import { StartDelay } from "./start-delay.js";

const START_LIMITS = { youngMs: 2_000, maxMs: 5_000 };

/** Time for a graceful shutdown, in milliseconds. The disk may hang. */
export const WRITER_END_MS = 5_000;

type Level = "debug" | "info" | "warn" | "error";

/** Messages of the process. Only the process and the workers interpret requests and answers. */
interface FromStoreWriter {
  readonly answer?: object;
  readonly log?: readonly [level: Level, facts: object, message: string];
}

interface StoreWriterParts {
  readonly fork: () => ChildProcess;
  readonly logger: Logger;
}

/**
 * The process that writes a store for all workers. It starts at the first request of a worker, is restarted after each
 * exit, and ends last. Only one exists at a time: the next starts after the previous one has exited.
 */
export class StoreWriter {
  readonly #parts: StoreWriterParts;
  readonly #startDelay = new StartDelay(START_LIMITS);
  #request: object | undefined;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  /** The first answer with which it served workers. */
  #before: object | undefined;
  #waiting: ((answer: object) => void)[] = [];
  #answer: object | undefined;
  #began = 0;
  #timer: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(parts: StoreWriterParts) {
    this.#parts = parts;
  }

  /** Calls back with the answer of the process once it serves or has failed. The first request starts it. */
  ask(request: object, answered: (answer: object) => void): void {
    this.#request ??= request;
    if (this.#answer !== undefined) return answered(this.#answer);
    this.#waiting.push(answered);
    if (this.#child === undefined && this.#timer === undefined) this.#begin();
  }

  /** Restarts the process, so that it opens the file again. */
  renew(): void {
    this.#child?.send("renew", () => {});
  }

  /** Ends the process in order. */
  async end(): Promise<void> {
    this.#isEnding = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    if (child === undefined) return;
    const timer = background(setTimeout(() => child.kill("SIGKILL"), WRITER_END_MS));
    if (child.connected) child.send("end", () => {});
    await this.#exited;
    clearTimeout(timer);
  }

  #begin(): void {
    this.#timer = undefined;
    const child = this.#parts.fork();
    this.#child = child;
    this.#began = performance.now();
    child.on("message", (message) => this.#hear(message as FromStoreWriter));
    this.#exited = new Promise((resolve) => {
      const ended = (why: object): void => {
        if (this.#child !== child) return;
        this.#ended(why);
        resolve();
      };
      child.once("exit", (code, signal) => ended({ code, signal }));
      child.on("error", (err) => child.pid === undefined && ended({ err }));
    });
    child.send({ request: this.#request, before: this.#before }, () => {});
  }

  #hear({ answer, log }: FromStoreWriter): void {
    if (log !== undefined) this.#parts.logger[log[0]](log[1], log[2]);
    if (answer === undefined) return;
    if (!("error" in answer)) this.#before ??= answer;
    this.#tell(answer);
    if (!("error" in answer)) this.#answer = answer;
  }

  #tell(answer: object): void {
    for (const answered of this.#waiting.splice(0)) answered(answer);
  }

  #ended(why: object): void {
    this.#child = undefined;
    this.#answer = undefined;
    // The first start of the process has failed, and a worker reports that.
    if (this.#isEnding || this.#before === undefined) {
      this.#tell({ error: { kind: "failed", message: "The process that writes the store has ended." } });
      return;
    }
    const livedMs = Math.round(performance.now() - this.#began);
    const delayMs = this.#startDelay.afterLife(livedMs);
    const facts = { ...why, livedMs, delayMs };
    this.#parts.logger.error(facts, "the process that writes the store has ended; another one takes its place");
    this.#timer = setTimeout(() => this.#begin(), delayMs);
  }
}
