import { A2AError } from "../../core/error.js";
import { PiecesBody, writePieces } from "../../http/pieces.js";
import type { HttpRequest } from "../../http/request.js";
import type { BodySource, BodyWriter, HttpResponse, Rejection } from "../../http/response.js";
import { JSON_TYPE } from "../../wire/media-type.js";
import type { BindingOptions } from "../binding.js";
import { failureOf } from "../failure.js";
import { batchResponse, errorOutcome, invalidRequest, type RpcResponse } from "./outcome.js";
import type { BatchMember, RequestHandler } from "./request-handler.js";

/** Maximum number of calls in a batch. */
const MAX_BATCH = 100;

/** Number of reads of a batch that run at once. Each answer is written before the next read in its slot starts. */
const READS_AT_ONCE = 4;

/** Number of characters up to which answers are collected. Beyond it they are written as they become ready. */
const TOGETHER = 128 * 1024;

/** Answers a batch, or refuses one that is empty, too long, or not part of the version. */
export async function answerBatch(
  json: readonly unknown[],
  request: HttpRequest,
  handler: RequestHandler,
  options: BindingOptions,
): Promise<HttpResponse | undefined> {
  if (json.length === 0) return invalidRequest(handler.errorShape, null, "a batch must not be empty");
  if (json.length > MAX_BATCH) {
    return invalidRequest(handler.errorShape, null, `a batch has at most ${MAX_BATCH} members`);
  }
  const members = handler.members(json);
  if (members === undefined) return invalidRequest(handler.errorShape, null, "batches are not part of this version");
  return new Batch(request, handler, options).answer(members);
}

interface PlacedMember extends BatchMember {
  /** Index among the members of its batch. */
  readonly place: number;
}

/** A response object collected for the common answer. */
interface Waiting {
  readonly place: number;
  readonly response: RpcResponse;
}

/**
 * A batch of JSON-RPC 2.0 (section 6). Small answers are sent together as one answer, in the order of the members.
 * Larger ones are written member by member, in the order in which they become ready and at the client's pace. Reads
 * then wait until earlier answers are written, and members beyond `maxOutgoingBytesPerCaller` are answered with an
 * error.
 */
class Batch implements BodySource {
  readonly #request: HttpRequest;
  readonly #handler: RequestHandler;
  readonly #options: BindingOptions;
  #waiting: Waiting[] = [];
  #waitingLength = 0;
  /** Bytes of all answers so far. */
  #bytes = 0;
  /** True once a member exceeded the quota; further reads do not run. */
  #isFull = false;
  /** True once the answer is written member by member. */
  #hasBegun = false;
  /** Later rejections, until a listener is set. */
  readonly #rejections: Rejection[] = [];
  #hear: ((rejection: Rejection) => void) | undefined;
  #begun: (response: HttpResponse) => void = () => {};
  /** The writer of the answer. Undefined if the answer is not written. */
  readonly #writer: Promise<BodyWriter | undefined>;
  #writeTo: (writer: BodyWriter | undefined) => void = () => {};
  /** Resolves when all pending writes have ended. */
  #writing: Promise<void> = Promise.resolve();
  /** Resolves when all members have run. */
  #running: Promise<unknown> = Promise.resolve();

  constructor(request: HttpRequest, handler: RequestHandler, options: BindingOptions) {
    this.#request = request;
    this.#handler = handler;
    this.#options = options;
    this.#writer = new Promise((resolve) => {
      this.#writeTo = resolve;
    });
  }

  /** Returns the answer, as a whole or written member by member. Undefined if no member has an answer. */
  answer(batch: readonly BatchMember[]): Promise<HttpResponse | undefined> {
    const members = batch.map((member, place): PlacedMember => ({ ...member, place }));
    const reads = members.filter(({ isRead }) => isRead)[Symbol.iterator]();
    const others = members.filter(({ isRead }) => !isRead);
    return new Promise((resolve, reject) => {
      this.#begun = resolve;
      const readers = Array.from({ length: READS_AT_ONCE }, () => this.#runAll(reads));
      this.#running = Promise.all([...readers, ...others.map((member) => this.#run(member))]);
      this.#running.then(() => {
        if (!this.#hasBegun) resolve(this.#waiting.length === 0 ? undefined : batchResponse(this.#together()));
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

  async #runAll(members: Iterator<PlacedMember>): Promise<void> {
    for (let next = members.next(); next.done !== true; next = members.next()) await this.#run(next.value);
  }

  async #run(member: PlacedMember): Promise<void> {
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

  #add(member: PlacedMember, response: RpcResponse): Promise<void> | undefined {
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
    if (this.#hasBegun) for (const rejection of response.rejections ?? []) this.#noteRejection(rejection);
    const before = this.#hasBegun ? "," : this.#begin(response);
    return this.#write([before], isLarge ? body.pieces : [body]);
  }

  #noteRejection(rejection: Rejection): void {
    if (this.#hear === undefined) this.#rejections.push(rejection);
    else this.#hear(rejection);
  }

  /** Returns the collected answers in the order of the members. */
  #together(): RpcResponse[] {
    return this.#waiting.toSorted((a, b) => a.place - b.place).map(({ response }) => response);
  }

  /** Starts to write every member once it is ready. Returns the text before this response. */
  #begin(response: RpcResponse): string {
    this.#hasBegun = true;
    const together = this.#together();
    this.#waiting = [];
    const { status, headers = [], rejections } = batchResponse([...together, response]);
    const laterRejections = (hear: (rejection: Rejection) => void): void => {
      this.#hear = hear;
      for (const rejection of this.#rejections.splice(0)) hear(rejection);
    };
    this.#begun({ status, headers, type: JSON_TYPE, body: this, rejections, laterRejections });
    return `[${together.map(({ body }) => `${body},`).join("")}`;
  }

  /** Writes after all pending writes. */
  #write(...all: Iterable<Uint8Array | string>[]): Promise<void> {
    const { logger } = this.#options;
    this.#writing = this.#writing.then(async () => {
      const writer = await this.#writer;
      if (writer === undefined) return;
      try {
        for (const pieces of all) await writePieces(writer, pieces);
      } catch (thrown) {
        // A part of the answer is sent, so the failure can only be logged and the connection closed.
        failureOf(thrown, { client: this.#request, logger, binding: "jsonrpc" });
      }
    });
    return this.#writing;
  }

  #tooMuch({ id, isRead }: BatchMember): RpcResponse {
    const { maxOutgoingBytesPerCaller } = this.#options.limits;
    const message = `The answers of the batch exceed ${maxOutgoingBytesPerCaller} bytes; ${isRead ? "ask for this one alone" : "the call was carried out"}.`;
    return errorOutcome(
      this.#handler.errorShape,
      id,
      new A2AError("TOO_MANY_REQUESTS", message, { metadata: { limit: "maxOutgoingBytesPerCaller" } }),
    );
  }
}
