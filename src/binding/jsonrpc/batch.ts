import { A2AError } from "../../core/error.js";
import type { BindingOptions } from "../binding.js";
import { failureOf } from "../failure.js";
import type { HttpExchange } from "../http-exchange.js";
import { JSON_TYPE } from "../media-type.js";
import { type PieceTarget, writePieces } from "../piecewise.js";
import type { Calls, Member } from "./calls.js";
import { failed, joined, type Outcome } from "./outcome.js";

/** Reads of one batch that are run at once. Each is written before the next one of its place begins. */
const READS_AT_ONCE = 4;

/** Answers are put together until they have so many characters; then they are written as they come. */
const TOGETHER = 128 * 1024;

interface Placed extends Member {
  /** Among the members of its batch. */
  readonly place: number;
}

/**
 * A batch of JSON-RPC 2.0 (section 6), whose answers stand in the order in which they are ready. Small ones leave
 * together as one answer. What is more than that is written member by member, at the pace of the client: reads wait for
 * those before them to be written, and members beyond `maxBatchBytes` are answered by an error.
 */
export class Batch {
  readonly #exchange: HttpExchange;
  readonly #calls: Calls;
  readonly #options: BindingOptions;
  #waiting: { readonly place: number; readonly outcome: Outcome }[] = [];
  #waitingLength = 0;
  /** Bytes of all answers so far. */
  #bytes = 0;
  /** A member found no room, so that further reads are not run. */
  #isFull = false;
  #hasBegun = false;
  /** The end of what is being written. */
  #writing: Promise<void> = Promise.resolve();

  constructor(exchange: HttpExchange, calls: Calls, options: BindingOptions) {
    this.#exchange = exchange;
    this.#calls = calls;
    this.#options = options;
  }

  /** The answer as a whole; undefined when there is none, or it has been written. */
  async answer(json: readonly unknown[]): Promise<Outcome | undefined> {
    const members = json.map((one, place): Placed => ({ ...this.#calls.member(one), place }));
    const reads = members.filter(({ isRead }) => isRead)[Symbol.iterator]();
    const others = members.filter(({ isRead }) => !isRead);
    const readers = Array.from({ length: READS_AT_ONCE }, () => this.#runAll(reads));
    await Promise.all([...readers, ...others.map((member) => this.#run(member))]);
    if (!this.#hasBegun) return this.#waiting.length === 0 ? undefined : joined(this.#together());
    await this.#write(["]"]);
    if (!this.#exchange.gone) this.#exchange.end();
    return undefined;
  }

  async #runAll(members: Iterator<Placed>): Promise<void> {
    for (let next = members.next(); next.done !== true; next = members.next()) await this.#run(next.value);
  }

  async #run(member: Placed): Promise<void> {
    if (this.#exchange.gone && member.isRead) return;
    const left = this.#isFull && member.isRead;
    const outcome = left ? this.#tooMuch(member) : await member.run();
    if (outcome === undefined) return;
    try {
      await this.#add(member, outcome);
    } finally {
      outcome.large?.written();
    }
  }

  #add(member: Placed, outcome: Outcome): Promise<void> | undefined {
    const size = outcome.large?.bytes ?? outcome.body.length;
    if (this.#bytes + size > this.#options.limits.maxBatchBytes && outcome.isError !== true) {
      this.#isFull = true;
      return this.#add(member, this.#tooMuch(member));
    }
    this.#bytes += size;
    if (!this.#hasBegun && outcome.large === undefined && this.#waitingLength + size < TOGETHER) {
      this.#waitingLength += size;
      this.#waiting.push({ place: member.place, outcome });
      return undefined;
    }
    const { large, body } = outcome;
    if (this.#hasBegun) return this.#write([","], large?.pieces ?? [body]);
    return this.#begin(outcome);
  }

  /** What waits, in the order of the members. */
  #together(): Outcome[] {
    return this.#waiting.toSorted((a, b) => a.place - b.place).map(({ outcome }) => outcome);
  }

  #begin(outcome: Outcome): Promise<void> {
    this.#hasBegun = true;
    const { status, headers } = joined([...this.#together(), outcome]);
    if (this.#exchange.gone) return Promise.resolve();
    this.#exchange.begin(status, [...headers, ["content-type", JSON_TYPE]]);
    const before = this.#together()
      .map(({ body }) => `${body},`)
      .join("");
    this.#waiting = [];
    return this.#write([`[${before}`], outcome.large?.pieces ?? [outcome.body]);
  }

  /** Writes behind everything that is being written. */
  #write(...all: Iterable<Uint8Array | string>[]): Promise<void> {
    const { exchange, limits, logger } = { exchange: this.#exchange, ...this.#options };
    this.#writing = this.#writing.then(async () => {
      try {
        for (const pieces of all) await writePieces(exchange.response as PieceTarget, pieces, limits.stalledReaderMs);
      } catch (thrown) {
        // A part of it is out: all that can be done is to break off, and to say why in the log.
        failureOf(thrown, { exchange, logger, binding: "jsonrpc" });
      }
    });
    return this.#writing;
  }

  #tooMuch({ id, isRead }: Member): Outcome {
    const { maxBatchBytes } = this.#options.limits;
    const message = `The answers of the batch exceed ${maxBatchBytes} bytes; ${isRead ? "ask for this one alone" : "the call was carried out"}.`;
    return failed(id, new A2AError("TOO_MANY_REQUESTS", message));
  }
}
