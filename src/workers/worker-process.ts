import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import type { MetricFamily } from "../telemetry/metrics.js";
import type { FromWorker, PortName, ToWorker } from "./messages.js";
import type { Taker } from "./shared-port.js";
import { SignalSender } from "./signal-sender.js";

export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A worker, as the primary process sees it. */
export class WorkerProcess implements Taker {
  readonly number: number;
  readonly began: number = performance.now();
  /** The name under which the worker holds leases, once it has reported the name. */
  holder: string | undefined;
  /** True from its first call on. */
  isReady = false;
  /** The ports whose connections it takes. */
  readonly takes: Set<PortName> = new Set();
  /** Its metrics as of its last report. */
  metrics: MetricFamily[] = [];
  /** True once it was asked to end. Its exit is then expected. */
  isEnding = false;
  /** True from the start of the worker that replaces it. If it crashes, it needs no other one. */
  hasSuccessor = false;
  /** Called once it serves calls. */
  onReady: () => void = () => {};
  /** Maximum duration of its graceful shutdown, in milliseconds. */
  latestMs = 30_000;
  /** Resolves when its process has ended. */
  readonly ended: Promise<WorkerEnd>;
  /** Signals of other workers. */
  readonly signals: SignalSender = new SignalSender((message, sent) => this.send(message, sent));
  readonly #child: ChildProcess;

  constructor(number: number, child: ChildProcess, hear: (message: FromWorker) => void) {
    this.number = number;
    this.#child = child;
    child.on("message", (message) => hear(message as FromWorker));
    this.ended = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
      // The process was not started, or a message could not be sent to it.
      child.on("error", () => child.pid === undefined && resolve({ code: null, signal: null }));
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Sends a message. One to a worker that has ended is dropped. */
  send(message: ToWorker, sent: () => void = () => {}): void {
    if (this.#child.connected) this.#child.send(message, sent);
  }

  give(port: PortName, id: number, socket: Socket): void {
    const message: ToWorker = { type: "connection", id, port };
    if (this.#child.connected) this.#child.send(message, socket, { keepOpen: true }, () => {});
  }

  check(upTo: number): void {
    this.send({ type: "check", upTo });
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
