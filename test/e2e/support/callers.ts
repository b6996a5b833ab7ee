import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Driver } from "../../support/driver.js";
import type { WireError } from "../../support/wire-error.js";
import { resuming, Story, say } from "./story.js";

/** Results of clients of one binding while servers are replaced. */
export interface Tally {
  /** Completed unary calls and completed streams. */
  calls: number;
  streams: number;
  /** Errors of calls and streams that were refused with UNAVAILABLE before their first event and then retried. */
  readonly refused: string[];
  /** Streams that ended with UNAVAILABLE after an event and were resumed. */
  resumed: number;
  /**
   * Errors of broken connections. An HTTP/1.1 client may send a call on a kept connection while the server closes it
   * (RFC 9112, 9.3.1), and then retries on another one.
   */
  readonly broken: string[];
  /** The longest call, in milliseconds. */
  longestMs: number;
}

/** Delay before a retry, in milliseconds. Servers ask for a second, which is long for a test. */
const RETRY_MS = 50;

/** Number of attempts before a call fails. */
const TRIES = 100;

/** Pieces of a stream that takes about a second. */
const PIECES = 20;

/**
 * Clients of one binding that follow the rules for retries (docs/deploying.md). They retry only after UNAVAILABLE and
 * broken connections.
 */
export class Callers {
  readonly tally: Tally = { calls: 0, streams: 0, refused: [], resumed: 0, broken: [], longestMs: 0 };
  readonly #driver: Driver;
  readonly #pieces: number;
  #messages = 0;

  get name(): string {
    return this.#driver.name;
  }

  /** @param pieces number of pieces of each stream, one every 50 ms */
  constructor(driver: Driver, pieces: number = PIECES) {
    this.#driver = driver;
    this.#pieces = pieces;
  }

  /** Sends short messages one after the other until the signal. @throws for a wrong answer */
  async call(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const text = `echo ${this.#driver.name} ${this.#messages++}`;
      const begin = performance.now();
      const message = await this.#answered(text);
      this.tally.longestMs = Math.max(this.tally.longestMs, performance.now() - begin);
      const { task } = message as { task?: JsonObject };
      if (!JSON.stringify(task).includes(text.slice(5))) throw new Failed(`The answer is ${JSON.stringify(message)}.`);
      this.tally.calls++;
    }
  }

  /** Follows tasks one after the other until the signal. @throws for a missing, duplicate or wrong event */
  async stream(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const story = new Story();
      const text = `stream ${this.#pieces} 16 50 ${this.#driver.name} ${this.#messages++}`;
      for (let tries = 0; !(await this.#over(story, text)); tries++) {
        if (tries > TRIES) throw new Failed(`The stream ${text} does not end.`);
      }
      // Events: creation, working, the pieces and the end. The story has checked for missing and duplicate events.
      const last = this.#pieces + 3;
      if (story.state !== "TASK_STATE_COMPLETED" || story.generation !== last) {
        throw new Failed(`The stream ends at generation ${story.generation} of ${last}, ${story.state}.`);
      }
      this.tally.streams++;
    }
  }

  async #answered(text: string): Promise<JsonObject> {
    for (let tries = 0; tries < TRIES; tries++) {
      try {
        const { message, error } = await this.#driver.call("SendMessage", say(text), resuming());
        if (message !== undefined) return message;
        this.#interrupted(error, "refused");
      } catch (error) {
        this.#broke(error);
      }
      await sleep(RETRY_MS);
    }
    throw new Failed(`${text} is refused all the time.`);
  }

  /** Starts or resumes a stream. @returns true if it has ended */
  async #over(story: Story, text: string): Promise<boolean> {
    const { taskId, generation } = story;
    const from = resuming(taskId === "" ? {} : { "Parley-After-Generation": String(generation) });
    const stream =
      taskId === ""
        ? this.#driver.stream("SendStreamingMessage", say(text), from)
        : this.#driver.stream("SubscribeToTask", { id: taskId }, from);
    for (let events = 0; ; events++) {
      const item = await stream.next().catch((error) => this.#broke(error));
      if (item !== undefined && "end" in item) return true;
      if (item !== undefined && "message" in item) {
        story.see(item.message);
        continue;
      }
      if (item !== undefined) this.#interrupted(item.error, events === 0 ? "refused" : "resumed");
      await sleep(RETRY_MS);
      return false;
    }
  }

  #interrupted(error: WireError | undefined, by: "refused" | "resumed"): void {
    if (error?.status === "UNAVAILABLE" || error?.reason === "UNAVAILABLE") {
      if (by === "refused") this.tally.refused.push(JSON.stringify(error));
      else this.tally.resumed++;
    } else if (error !== undefined && isOfConnection(error)) this.#broke(error.message);
    else throw new Failed(`${this.#driver.name}: ${JSON.stringify(error)}`);
  }

  #broke(error: unknown): void {
    if (error instanceof Failed) throw error;
    this.tally.broken.push(String(error));
  }
}

class Failed extends Error {}

/**
 * True for errors that clients create when a connection ends. The server's own errors have details or the message
 * below. A server refuses a call that crosses its GOAWAY (RFC 9113, 8.7), and Connect's client does not retry it.
 */
function isOfConnection({ status, details, message }: WireError): boolean {
  return /ABORTED|INTERNAL|UNKNOWN/.test(status ?? "") && details.length === 0 && message !== "Internal error.";
}
