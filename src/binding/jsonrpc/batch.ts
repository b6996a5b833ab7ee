import { A2AError } from "../../core/error.js";
import { JSON_TYPE } from "../../http/media-type.js";
import { PiecesBody, writePieces } from "../../http/pieces.js";
import type { HttpRequest } from "../../http/request.js";
import type { BodySource, BodyWriter, HttpResponse, Refusal } from "../../http/response.js";
import type { BindingOptions } from "../binding.js";
import { failureOf } from "../failure.js";
import type { Calls, Member } from "./calls.js";
import { failed, joined, type RpcResponse } from "./outcome.js";

/** Reads of one batch that are run at once. Each is written before the next one of its place begins. */
const READS_AT_ONCE = 4;

/** Answers are put together until they have so many characters; then they are written as they come. */
const TOGETHER = 128 * 1024;

interface Placed extends Member {
  /** Among the members of its batch. */
  readonly place: number;
}

/** A response object that waits for the others. */
interface Waiting {
  readonly place: number;
  readonly response: RpcResponse;
}

/**
 * A batch of JSON-RPC 2.0 (section 6), whose answers stand in the order in which they are ready. Small ones leave
 * together as one answer. What is more than that is written member by member, at the pace of the client: reads wait for
 * those before them to be written, and members beyond `maxOutgoingBytesPerCaller` are answered by an error.
 */
export class Batch implements BodySource {
  readonly #request: HttpRequest;
  readonly #calls: Calls;
  readonly #options: BindingOptions;
  #waiting: Waiting[] = [];
  #waitingLength = 0;
  /** Bytes of all answers so far. */
  #bytes = 0;
  /** A member found no room, so that further reads are not run. */
  #isFull = false;
  /** The answer is written member by member. */
  #hasBegun = false;
  /** What was refused since, until somebody hears of it. */
  readonly #refusals: Refusal[] = [];
  #hear: ((refusal: Refusal) => void) | undefined;
  #begun: (response: HttpResponse) => void = () => {};
  /** Where it is written to; undefined where nobody reads it. */
  readonly #writer: Promise<BodyWriter | undefined>;
  #writeTo: (writer: BodyWriter | undefined) => void = () => {};
  /** The end of what is being written. */
  #writing: Promise<void> = Promise.resolve();
  /** All members have been run. */
  #running: Promise<unknown> = Promise.resolve();

  constructor(request: HttpRequest, calls: Calls, options: BindingOptions) {
    this.#request = request;
    this.#calls = calls;
    this.#options = options;
    this.#writer = new Promise((resolve) => {
      this.#writeTo = resolve;
    });
  }

  /** The answer, as a whole or to be written member by member; undefined when there is none. */
  answer(batch: readonly Member[]): Promise<HttpResponse | undefined> {
    const members = batch.map((member, place): Placed => ({ ...member, place }));
    const reads = members.filter(({ isRead }) => isRead)[Symbol.iterator]();
    const others = members.filter(({ isRead }) => !isRead);
    return new Promise((resolve, reject) => {
      this.#begun = resolve;
      const readers = Array.from({ length: READS_AT_ONCE }, () => this.#runAll(reads));
      this.#running = Promise.all([...readers, ...others.map((member) => this.#run(member))]);
      this.#running.then(() => {
        if (!this.#hasBegun) resolve(this.#waiting.length === 0 ? undefined : joined(this.#together()));
      }, reject);
    });
  }

  async writeTo(writer: BodyWriter): Promise<boolean> {
    this.#writeTo(writer);
    await this.#running;
    await this.#write(["]"]);
    return !writer.isOver;
  }

  cancel(): void {
    this.#writeTo(undefined);
  }

  async #runAll(members: Iterator<Placed>): Promise<void> {
    for (let next = members.next(); next.done !== true; next = members.next()) await this.#run(next.value);
  }

  async #run(member: Placed): Promise<void> {
    if (this.#request.canceled && member.isRead) return;
    const left = this.#isFull && member.isRead;
    const response = left ? this.#tooMuch(member) : await member.run();
    if (response === undefined) return;
    try {
      await this.#add(member, response);
    } finally {
      if (response.body instanceof PiecesBody) response.body.cancel();
    }
  }

  #add(member: Placed, response: RpcResponse): Promise<void> | undefined {
    const { body } = response;
    const isLarge = body instanceof PiecesBody;
    const size = isLarge ? body.bytes : body.length;
    if (this.#bytes + size > this.#options.limits.maxOutgoingBytesPerCaller && response.isError !== true) {
      this.#isFull = true;
      return this.#add(member, this.#tooMuch(member));
    }
    this.#bytes += size;
    if (!this.#hasBegun && !isLarge && this.#waitingLength + size < TOGETHER) {
      this.#waitingLength += size;
      this.#waiting.push({ place: member.place, response });
      return undefined;
    }
    if (this.#hasBegun) for (const refusal of response.refusals ?? []) this.#refused(refusal);
    const before = this.#hasBegun ? "," : this.#begin(response);
    return this.#write([before], isLarge ? body.pieces : [body]);
  }

  #refused(refusal: Refusal): void {
    if (this.#hear === undefined) this.#refusals.push(refusal);
    else this.#hear(refusal);
  }

  /** What waits, in the order of the members. */
  #together(): RpcResponse[] {
    return this.#waiting.toSorted((a, b) => a.place - b.place).map(({ response }) => response);
  }

  /** From now on every member is written when it is ready. Returns what stands before this one. */
  #begin(response: RpcResponse): string {
    this.#hasBegun = true;
    const together = this.#together();
    this.#waiting = [];
    const { status, headers = [], refusals } = joined([...together, response]);
    const laterRefusals = (hear: (refusal: Refusal) => void): void => {
      this.#hear = hear;
      for (const refusal of this.#refusals.splice(0)) hear(refusal);
    };
    this.#begun({ status, headers, type: JSON_TYPE, body: this, refusals, laterRefusals });
    return `[${together.map(({ body }) => `${body},`).join("")}`;
  }

  /** Writes behind everything that is being written. */
  #write(...all: Iterable<Uint8Array | string>[]): Promise<void> {
    const { logger } = this.#options;
    this.#writing = this.#writing.then(async () => {
      const writer = await this.#writer;
      if (writer === undefined) return;
      try {
        for (const pieces of all) await writePieces(writer, pieces);
      } catch (thrown) {
        // A part of it is out: all that can be done is to break off, and to say why in the log.
        failureOf(thrown, { client: this.#request, logger, binding: "jsonrpc" });
      }
    });
    return this.#writing;
  }

  #tooMuch({ id, isRead }: Member): RpcResponse {
    const { maxOutgoingBytesPerCaller } = this.#options.limits;
    const message = `The answers of the batch exceed ${maxOutgoingBytesPerCaller} bytes; ${isRead ? "ask for this one alone" : "the call was carried out"}.`;
    return failed(
      this.#calls.errorShape,
      id,
      new A2AError("TOO_MANY_REQUESTS", message, { metadata: { limit: "maxOutgoingBytesPerCaller" } }),
    );
  }
}
