import { runNextTurn } from "../../core/event-loop.js";
import type { BodySource, BodyWriter } from "../response.js";
import { slowReader } from "../response.js";

/** Buffer ahead of the reader, in bytes: the same as of Node's streams. */
const AHEAD_BYTES = 16 * 1024;

/** Callbacks for the end of a body. */
interface BodyEnd {
  /** Called after the body was written, or aborted, or its reader has disconnected. */
  ended(isWhole: boolean): void;
  /** Called if generating the body fails. */
  failed(error: unknown): void;
}

/** Writes a body to a web stream, which pulls when its reader wants more. */
export class StreamWriter implements BodyWriter {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #source: BodySource;
  readonly #end: BodyEnd;
  readonly #encoder = new TextEncoder();
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #hasBegun = false;
  #isOver = false;
  /** Callbacks of writers that wait for the next pull. */
  #waiting: (() => void)[] = [];

  constructor(source: BodySource, end: BodyEnd) {
    this.#source = source;
    this.#end = end;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pull(),
        cancel: () => this.#over(false),
      },
      { highWaterMark: AHEAD_BYTES, size: (piece) => piece.byteLength },
    );
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isBlocked(): boolean {
    return (this.#controller.desiredSize ?? 0) <= 0;
  }

  write(piece: string | Uint8Array): boolean {
    if (this.#isOver) return true;
    // The reader owns its chunks, so chunks that other readers share are copied.
    this.#controller.enqueue(typeof piece === "string" ? this.#encoder.encode(piece) : new Uint8Array(piece));
    return !this.isBlocked;
  }

  waitForDrain(): Promise<void> {
    if (this.#isOver || !this.isBlocked) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.breakOff("stalled"), slowReader.timeoutMs);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  breakOff(why: "stalled" | "failed"): void {
    this.#abort(new Error(why === "stalled" ? "The reader took nothing for too long." : "The body could not be made."));
  }

  /**
   * Ends the body after the client aborted the request's signal. Servers abort, then cancel the body, and print an
   * error that the body reports in between. So it reports the error only in the next round of the event loop, to a
   * reader that has not canceled it.
   *
   * @param reason of the signal
   */
  clientGone(reason: unknown): void {
    if (this.#isOver) return;
    this.#over(false);
    runNextTurn(() => this.#controller.error(reason));
  }

  #abort(reason: Error): void {
    if (this.#isOver) return;
    this.#controller.error(reason);
    this.#over(false);
  }

  #pull(): void {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      void this.#run();
    }
    this.#wake();
  }

  async #run(): Promise<void> {
    try {
      const isWhole = await this.#source.writeTo(this);
      if (this.#isOver) return;
      if (!isWhole) return this.breakOff("failed");
      this.#controller.close();
      this.#over(true);
    } catch (error) {
      this.#end.failed(error);
      this.breakOff("failed");
    }
  }

  #over(isWhole: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#source.cancel();
    }
    this.#end.ended(isWhole);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
