import type { A2AError, Reason, StatusName } from "../core/error.js";

/** Header names and values; the last of several values for a name applies. */
export type HeaderPairs = Iterable<readonly [name: string, value: string]>;

/** A request, or a member of one, that was refused before it was a call of a method. */
export interface Refusal {
  readonly binding: string;
  /** Name of the method, when it came that far. */
  readonly method?: string | undefined;
  /** Where a library has refused it the name of a status, or undefined. */
  readonly reason?: Reason | StatusName | undefined;
  /** Name of the limit that it was refused by. */
  readonly limit?: string | undefined;
}

/** What an error says of a request that it refused. */
export function refusalOf(binding: string, { reason, metadata }: A2AError, method?: string): Refusal {
  const { limit } = metadata;
  return limit === undefined ? { binding, method, reason } : { binding, method, reason, limit };
}

/** An HTTP response as a value, which one adapter per runtime writes. */
export interface HttpResponse {
  readonly status: number;
  /** Media type of the body. It wins over a `content-type` in `headers`. */
  readonly type?: string | undefined;
  readonly headers?: HeaderPairs;
  /** Undefined: no body. The adapter adds the length of a string or bytes. */
  readonly body?: string | Uint8Array | BodySource | undefined;
  /** Read when the body has been written. Dropped where the runtime has no trailers. */
  readonly trailers?: HeaderPairs | undefined;
  /** What of the request never became a call; for the access log and auditors, and not sent. */
  readonly refusals?: readonly Refusal[] | undefined;
  /** Tells of those that are found while the body is made. */
  readonly laterRefusals?: ((hear: (refusal: Refusal) => void) => void) | undefined;
}

/**
 * A response body that is generated while it is written, at the pace of its reader. Exactly one of the two methods is
 * called, once.
 */
export interface BodySource {
  /**
   * Writes the body. The caller ends the response.
   *
   * @returns whether all of it was written. Otherwise the reader has gone away, or was cut off.
   * @throws the error for which the body cannot be made; a part of it may have been sent by then.
   */
  writeTo(writer: BodyWriter): Promise<boolean>;
  /** The body will not be read. */
  cancel(): void;
}

/**
 * Minimum pace of a reader. It has to take `minBytes` within `timeoutMs`, or all that waits for it if that is less: of a chunk of a large
 * answer, of the events of a stream, of an answer that is complete here. A stream on which nothing waits has no minimum.
 */
export const slowReader = { timeoutMs: 60_000, minBytes: 32_768 } as const;

/** Writes a body on one runtime. */
export interface BodyWriter {
  /** Whether no more pieces are accepted. */
  readonly isOver: boolean;
  /** Whether the caller should wait before it writes more. */
  readonly isBlocked: boolean;
  /** @returns false when the caller should wait before it writes more. */
  write(piece: string | Uint8Array): boolean;
  /**
   * Waits until more may be written, or the body is over. A reader that has not taken what was written within
   * `slowReader.timeoutMs` is cut off.
   */
  waitForDrain(): Promise<void>;
  /** Breaks the body off in a way that the reader notices, so that it does not take a part for the whole. */
  breakOff(why: "stalled" | "failed"): void;
}

/** Whether a body is made while it is written. */
export function isSource(body: HttpResponse["body"]): body is BodySource {
  return typeof body === "object" && "writeTo" in body;
}

/** The characters that headers may have; Node and the Fetch API throw at others. */
const legalName = /^[\w!#$%&'*+.^`|~-]+$/;
const legalValue = /^[\t -~\x80-\xff]*$/;

/**
 * The headers of an answer, names and values alternating: first those of every answer, then its own. Illegal ones are dropped.
 */
export function headOf({ headers = none, type }: HttpResponse, common: readonly string[]): string[] {
  const head = [...common];
  for (const [name, value] of headers) {
    if (!legalName.test(name) || !legalValue.test(value)) continue;
    if (name === "vary") addVary(head, value);
    else put(head, name, value);
  }
  if (type !== undefined) put(head, "content-type", type);
  return head;
}

const none: HeaderPairs = [];

/** Sets a header in a list of names and values. */
function put(head: string[], name: string, value: string): void {
  for (let i = 0; i < head.length; i += 2) {
    if (head[i] === name) {
      head[i + 1] = value;
      return;
    }
  }
  head.push(name, value);
}

/** Adds to `Vary`, which may have a value already. */
function addVary(head: string[], value: string): void {
  const at = head.indexOf("vary");
  put(head, "vary", at >= 0 && at % 2 === 0 ? `${head[at + 1]}, ${value}` : value);
}
