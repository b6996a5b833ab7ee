import type { CatchUpResult, GatherResult, SubscribeJob } from "../protocol.js";
import { openSse } from "./http1.js";
import type { OpenStream } from "./request.js";

/** Connections opened at once, so that the server's queue of new ones does not overflow. */
const OPEN_AT_ONCE = 100;

/** Streams that are read, or that are not, and what arrived on them. */
class Group {
  readonly streams: OpenStream[] = [];
  events = 0;
  open = 0;
  firstAt = 0;
  #lastAt = 0;
  #error: Error | undefined;
  #wake = (): void => {};

  arrived(events: number): void {
    if (this.firstAt === 0) this.firstAt = performance.now();
    this.events += events;
  }

  over(error: Error | undefined): void {
    this.open--;
    this.#error ??= error;
    this.#lastAt = performance.now();
    this.#wake();
  }

  /** Waits for the end of every stream, and gives when that was. */
  async end(): Promise<number> {
    while (this.open > 0 && this.#error === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#error !== undefined) throw this.#error;
    return this.#lastAt;
  }

  close(): void {
    for (const stream of this.streams.splice(0)) stream.close();
  }
}

/** Many readers of one call's stream. */
export class Subscribers {
  readonly #reading = new Group();
  readonly #stalled = new Group();
  #cpu = process.cpuUsage();

  /** Opens the streams; resolves when each has its first event. */
  async open({ call, readers, stalled }: SubscribeJob): Promise<void> {
    if (call.transport !== "http1") throw new Error("subscribers are SSE streams");
    for (let done = 0; done < readers + stalled; done += OPEN_AT_ONCE) {
      const count = Math.min(OPEN_AT_ONCE, readers + stalled - done);
      await Promise.all(Array.from({ length: count }, (_, index) => this.#open(call, done + index < stalled)));
    }
    this.#reading.events = 0;
    this.#reading.firstAt = 0;
    this.#cpu = process.cpuUsage();
  }

  /** Waits for the end of every stream that is read. */
  async gather(): Promise<GatherResult> {
    const last = await this.#reading.end();
    const { user, system } = process.cpuUsage(this.#cpu);
    return { events: this.#reading.events, ms: last - this.#reading.firstAt, cpuMs: (user + system) / 1_000 };
  }

  async catchUp(): Promise<CatchUpResult> {
    const start = performance.now();
    for (const stream of this.#stalled.streams) stream.resume();
    const last = await this.#stalled.end();
    return { events: this.#stalled.events, ms: last - start };
  }

  close(): void {
    this.#reading.close();
    this.#stalled.close();
  }

  #open(call: Parameters<typeof openSse>[0], stalls: boolean): Promise<void> {
    const group = stalls ? this.#stalled : this.#reading;
    group.open++;
    return new Promise((resolve, reject) => {
      let isFirst = true;
      let stream: OpenStream | undefined;
      const arrived = (events: number): void => {
        group.arrived(events);
        if (!isFirst) return;
        isFirst = false;
        if (stalls) stream?.stall();
        resolve();
      };
      const over = (error?: Error): void => {
        group.over(error);
        reject(error ?? new Error("a stream was over before its first event"));
      };
      openSse(call, { arrived, over }).then((open) => {
        stream = open;
        group.streams.push(open);
      }, reject);
    });
  }
}
