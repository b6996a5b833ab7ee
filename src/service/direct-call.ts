import { type Client, TurnAborter } from "../agent/abort.js";
import { type Cancellation, ignore } from "../core/async.js";
import { A2AError } from "../core/error.js";
import { type Deferred, defer } from "../core/event-loop.js";
import type { SendResult } from "../engine/engine.js";
import type { DirectCall, DirectCalls } from "../engine/shutdown.js";

/**
 * A send whose agent answers, decides or accepts before a task exists. It fails as soon as its caller leaves or the
 * server ends, because an agent that ignores its signal would otherwise keep the call open. A task that is created
 * later continues.
 *
 * It starts to listen in the next round of the event loop, because most agents that answer directly have answered by
 * then.
 */
export class DirectSend extends TurnAborter implements DirectCall, Deferred {
  readonly #cancellation: Cancellation;
  readonly #open: DirectCalls;
  #reject: (error: unknown) => void = ignore;
  #isOver = false;
  #isRefused = false;
  #removeListener: (() => void) | undefined;

  constructor(caller: Client & { readonly cancellation: Cancellation }, open: DirectCalls) {
    super(caller);
    this.#cancellation = caller.cancellation;
    this.#open = open;
  }

  /**
   * @throws A2AError with reason CANCELLED if the client has left, or UNAVAILABLE if the server ends; and the errors of
   * the send
   */
  result(sending: Promise<SendResult>): Promise<SendResult> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      defer(this);
      const answered = (sent: SendResult): void => {
        this.#end();
        if (!this.#isRefused) resolve(sent);
        else if (sent.kind === "task") sent.task.release();
      };
      sending.then(answered, (error) => {
        this.#end();
        reject(error);
      });
    });
  }

  run(): void {
    if (this.#isOver) return;
    this.#open.begin(this);
    this.#removeListener = this.#cancellation.onCancel(() => {
      this.refuse(new A2AError("CANCELLED", "The client went away before the agent answered."));
    });
  }

  failed(error: unknown): void {
    this.#reject(error);
  }

  stop(): void {
    this.abort("shutdown");
  }

  refuse(error: A2AError): void {
    this.#isRefused = true;
    this.#open.end(this);
    this.#reject(error);
  }

  #end(): void {
    this.#isOver = true;
    // Undefined if the agent answered before the call started to listen.
    if (this.#removeListener === undefined) return;
    this.#removeListener();
    this.#open.end(this);
  }
}
