import { isUtf8 } from "node:buffer";
import type { DescMessage } from "@bufbuild/protobuf";
import { ignore } from "../core/async.js";
import { A2AError, invalid, toA2AError } from "../core/error.js";
import { runInOwnTurn, yieldToEventLoop } from "../core/event-loop.js";
import type { Limits } from "../core/limits.js";
import { TooDeep } from "../wire/binary-input.js";
import { excessOfJson } from "../wire/count-values.js";
import { MESSAGE_LEVELS, UNCHECKED_JSON_LEVELS } from "../wire/nesting.js";
import type { BufferBudget, InboundBudget, PendingUpload } from "./inbound-budget.js";
import type { BodySize, HttpRequest } from "./request.js";

/** A body: a JSON value, empty, or not JSON in UTF-8 (RFC 8259, section 8.1). */
export type JsonBody = { readonly json: unknown } | "empty" | "malformed";

/**
 * Maximum number of values in a request: fields, list elements, members of JSON. Parsing more would block the event
 * loop for more than about 50 ms.
 */
export const requestValues = { max: 50_000 } as const;

/** The limits of a body. */
interface Bounds {
  readonly limits: Limits;
  readonly inboundBudget: InboundBudget;
}

/**
 * Reads and parses the body of a request. After a long body, other work of the event loop runs before the result is
 * used.
 *
 * @throws A2AError with reason REQUEST_TOO_LARGE beyond `maxRequestBytes`, as early as possible; TOO_MANY_REQUESTS if
 * too many bytes are arriving; CANCELLED if the client disconnects before the end; and as `jsonBodyOf`.
 */
export function readJson(request: HttpRequest, { limits, inboundBudget }: Bounds): Promise<JsonBody> {
  return request.readBody({ max: limits.maxRequestBytes, framing: 0 }, inboundBudget).then((bytes) => {
    const body = jsonBodyOf(bytes);
    return bytes.length < LONG_BYTES ? body : yieldToEventLoop().then(() => body);
  });
}

/**
 * @throws A2AError with reason REQUEST_TOO_LARGE beyond `requestValues.max`, INVALID_PARAMS if it is nested too deep to
 * be parsed.
 */
export function jsonBodyOf(body: Uint8Array): JsonBody {
  if (body.length === 0) return "empty";
  const excess = excessOfJson(body, requestValues.max);
  if (excess !== undefined) throw excess === "values" ? tooManyValues() : tooDeep();
  if (!isUtf8(body)) return "malformed";
  const bytes = bufferOf(body);
  // A byte order mark may be ignored instead of refused.
  const start = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  try {
    return { json: JSON.parse(bytes.toString("utf8", start)) };
  } catch {
    return "malformed";
  }
}

/** Collects the chunks of a body, within its limits. The runtime's adapter passes them in. */
export class BodyCollector implements PendingUpload {
  readonly #request: HttpRequest;
  readonly #max: number;
  readonly #framing: number;
  readonly #inboundBudget: InboundBudget;
  #resolve: (bytes: Buffer) => void = ignore;
  #reject: (error: A2AError) => void = ignore;
  #first: Uint8Array | undefined;
  /** Chunks after the first one; most bodies have only one. */
  #more: BodyChunks | undefined;
  #size = 0;
  #budget: BufferBudget | undefined;
  #done = false;
  /** The body is complete and waits for its round of the event loop. */
  #isWhole = false;
  readonly #timeoutMs: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param timeoutMs for receiving the body, in milliseconds, if the runtime does not limit it */
  constructor(request: HttpRequest, { max, framing }: BodySize, inboundBudget: InboundBudget, timeoutMs?: number) {
    this.#timeoutMs = timeoutMs;
    this.#request = request;
    this.#max = max;
    this.#framing = framing;
    this.#inboundBudget = inboundBudget;
  }

  /** Returns the whole body. Called once, before the first chunk. */
  bytes(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Begins to accept chunks. */
  begin(): void {
    if (Number(this.#request.header("content-length")) > this.#max + this.#framing)
      this.#refuse(bodyTooLarge(this.#max));
    else this.#inboundBudget.begin(this);
  }

  get hasArrived(): boolean {
    return this.#done || this.#isWhole;
  }

  wait(): void {
    if (this.#count(this.#size) && this.#timeoutMs !== undefined) {
      this.#timer = setTimeout(() => this.#refuse(tooSlow()), this.#timeoutMs);
    }
  }

  take(chunk: Uint8Array): void {
    if (this.#done) return;
    if (this.#size + chunk.length > this.#max + this.#framing) return this.#refuse(bodyTooLarge(this.#max));
    if (this.#budget !== undefined && !this.#count(chunk.length)) return;
    this.#size += chunk.length;
    if (this.#first === undefined) this.#first = chunk;
    else {
      this.#more ??= new BodyChunks();
      this.#more.add(chunk);
    }
  }

  end(): void {
    if (this.#size < LONG_BYTES) return this.#pass();
    if (this.#done || (this.#budget === undefined && !this.#count(this.#size))) return;
    this.#isWhole = true;
    runInOwnTurn(() => this.#pass());
  }

  #pass(): void {
    if (this.#done) return;
    const first = this.#first ?? EMPTY;
    this.#resolve(this.#more === undefined ? bufferOf(first) : Buffer.concat([first, ...this.#more.all()]));
    this.#end();
  }

  /** Rejects the body because the request was closed. Does nothing after the body was read. */
  close(): void {
    if (this.hasArrived) return;
    this.#end();
    this.#reject(new A2AError("CANCELLED", "The client went away."));
  }

  #count(bytes: number): boolean {
    try {
      this.#budget ??= this.#inboundBudget.open(this.#request.peer.address);
      this.#budget.take(bytes);
      return true;
    } catch (error) {
      this.#refuse(toA2AError(error));
      return false;
    }
  }

  #refuse(error: A2AError): void {
    this.#end();
    this.#reject(error);
    this.#request.discard();
  }

  /** Stops counting and releases the chunks. */
  #end(): void {
    this.#done = true;
    clearTimeout(this.#timer);
    this.#first = undefined;
    this.#more = undefined;
    this.#budget?.close();
  }
}

/** Size from which a body is passed on in its own round of the event loop, in bytes: parsing it takes milliseconds. */
export const LONG_BYTES: number = 64 * 1024;

const EMPTY = Buffer.alloc(0);

/** Returns the same bytes as a Buffer, without a copy. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Size below which chunks are copied together, in bytes: each separate chunk costs some hundred bytes more. */
const LEAST_PIECE = 1_024;

/** Size of the buffer that they are copied into, in bytes. */
const GATHERED = 16 * 1024;

/** The chunks of a body, in order. */
class BodyChunks {
  readonly #pieces: Uint8Array[] = [];
  #gathered: Buffer | undefined;
  #used = 0;

  add(piece: Uint8Array): void {
    const small = piece.length < LEAST_PIECE;
    if (!small || this.#used + piece.length > GATHERED) this.#seal();
    if (small) {
      this.#gathered ??= Buffer.allocUnsafe(GATHERED);
      this.#gathered.set(piece, this.#used);
      this.#used += piece.length;
    } else this.#pieces.push(piece);
  }

  all(): Uint8Array[] {
    this.#seal();
    return this.#pieces;
  }

  #seal(): void {
    if (this.#gathered !== undefined) this.#pieces.push(this.#gathered.subarray(0, this.#used));
    this.#gathered = undefined;
    this.#used = 0;
  }
}

/** The error of a body beyond `maxRequestBytes`. */
export function bodyTooLarge(max: number): A2AError {
  return new A2AError("REQUEST_TOO_LARGE", `The body of the request exceeds ${max} bytes.`, {
    metadata: { limit: "maxRequestBytes" },
  });
}

function tooSlow(): A2AError {
  return new A2AError("DEADLINE_EXCEEDED", "The body of the request did not arrive in time.");
}

function tooDeep(): A2AError {
  return new A2AError("INVALID_PARAMS", `The request is nested more than ${UNCHECKED_JSON_LEVELS} levels deep.`);
}

/** The error for bytes that are not a message of the type. @param cause the error of its reader */
export function notTheMessage({ typeName }: DescMessage, cause: unknown): A2AError {
  const description =
    cause instanceof TooDeep
      ? `the request is nested more than ${MESSAGE_LEVELS} messages deep`
      : `the request's bytes are not a ${typeName} message`;
  return invalid([{ field: "", description }]);
}

/** The error of a request beyond `requestValues.max`. */
export function tooManyValues(): A2AError {
  return new A2AError("REQUEST_TOO_LARGE", `The request has more than ${requestValues.max} values.`, {
    metadata: { limit: "maxRequestValues" },
  });
}
