import type { GatherResult, SubscribeJob } from "../protocol.js";
import { openSse } from "./http1.js";
import type { OpenStream } from "./request.js";

/** Connections opened at once, so that the server's queue of new ones does not overflow. */
const OPEN_AT_ONCE = 100;

/** Many readers of one call's stream. */
export class Subscribers {
  readonly #streams: OpenStream[] = [];
  #events = 0;
  #firstAt = 0;
  #lastAt = 0;
  #reading = 0;
  #error: Error | undefined;
  #wake = (): void => {};

  /** Opens the streams; resolves when each has its first event. */
  async open({ call, readers, stalled }: SubscribeJob): Promise<void> {
    if (call.transport !== "http1") throw new Error("subscribers are SSE streams");
    for (let done = 0; done < readers + stalled; done += OPEN_AT_ONCE) {
      const count = Math.min(OPEN_AT_ONCE, readers + stalled - done);
      await Promise.all(Array.from({ length: count }, (_, index) => this.#open(call, done + index < stalled)));
    }
    this.#events = 0;
    this.#firstAt = 0;
  }

  /** Waits for the end of every stream that is read. */
  async gather(): Promise<GatherResult> {
    while (this.#reading > 0 && this.#error === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#error !== undefined) throw this.#error;
    return { events: this.#events, ms: this.#lastAt - this.#firstAt };
  }

  close(): void {
    for (const stream of this.#streams.splice(0)) stream.close();
    this.#reading = 0;
  }

  #open(call: Parameters<typeof openSse>[0], stalls: boolean): Promise<void> {
    if (!stalls) this.#reading++;
    return new Promise((resolve, reject) => {
      let opened = false;
      let stream: OpenStream | undefined;
      const first = (): void => {
        opened = true;
        if (stalls) stream?.stall();
        resolve();
      };
      const arrived = (events: number): void => {
        if (!opened) return first();
        if (!stalls) this.#arrived(events);
      };
      const over = (error?: Error): void => {
        if (!stalls) this.#over(error);
        reject(error ?? new Error("a stream was over before its first event"));
      };
      openSse(call, { arrived, over }).then((open) => {
        stream = open;
        this.#streams.push(open);
      }, reject);
    });
  }

  #arrived(events: number): void {
    if (this.#firstAt === 0) this.#firstAt = performance.now();
    this.#events += events;
  }

  #over(error: Error | undefined): void {
    this.#reading--;
    this.#error ??= error;
    this.#lastAt = performance.now();
    this.#wake();
  }
}
