import type { A2AError, Reason, StatusName } from "../core/error.js";
import { REQUEST_ID_HEADER } from "../core/ids.js";
import type { HttpRequest } from "./request.js";

/** Header names and values; the last of several values for a name applies. */
export type HeaderPairs = Iterable<readonly [name: string, value: string]>;

/** A request, or a member of a batch, that was refused before it became a call. */
export interface Rejection {
  readonly binding: string;
  /** Name of the method, if it was known at the rejection. */
  readonly method?: string | undefined;
  /** Reason of the error; the name of a status, or undefined, if a library refused the request. */
  readonly reason?: Reason | StatusName | undefined;
  /** Name of the exceeded limit. */
  readonly limit?: string | undefined;
}

/** Converts the error of a refused request to a rejection. */
export function rejectionOf(binding: string, { reason, metadata }: A2AError, method?: string): Rejection {
  const { limit } = metadata;
  return limit === undefined ? { binding, method, reason } : { binding, method, reason, limit };
}

/** An HTTP response as a value. Each runtime has an adapter that writes it. */
export interface HttpResponse {
  readonly status: number;
  /** Media type of the body. It takes precedence over a `content-type` in `headers`. */
  readonly type?: string | undefined;
  readonly headers?: HeaderPairs;
  /** Undefined for no body. The adapter adds the length of a string or bytes. */
  readonly body?: string | Uint8Array | BodySource | undefined;
  /** Read when the body has been written. Dropped where the runtime has no trailers. */
  readonly trailers?: HeaderPairs | undefined;
  /** Parts of the request that never became a call, for the access log and the audit log. They are not sent. */
  readonly rejections?: readonly Rejection[] | undefined;
  /** Registers a callback for rejections that are found while the body is generated. */
  readonly laterRejections?: ((hear: (rejection: Rejection) => void) => void) | undefined;
}

/**
 * A response body that is generated while it is written, at the pace of its reader. Exactly one of the two methods is
 * called, once.
 */
export interface BodySource {
  /**
   * Writes the body. The caller ends the response.
   *
   * @returns true if the whole body was written, false if the reader disconnected or was too slow.
   * @throws the error of generating the body, of which a part may have been sent.
   */
  writeTo(writer: BodyWriter): Promise<boolean>;
  /** Releases a body that will not be read. */
  cancel(): void;
}

/**
 * Minimum pace of a reader. It has to take `minBytes` within `timeoutMs`, or all waiting bytes if they are fewer: of a
 * piece of a large answer, of the events of a stream, of a complete answer. A stream without waiting bytes has no
 * minimum.
 */
export const slowReader = { timeoutMs: 60_000, minBytes: 32_768 } as const;

/** Writes a body on one runtime. */
export interface BodyWriter {
  /** True if the writer accepts no more chunks. */
  readonly isOver: boolean;
  /** True if the caller should wait before it writes more. */
  readonly isBlocked: boolean;
  /** @returns false if the caller should wait before it writes more. */
  write(piece: string | Uint8Array): boolean;
  /**
   * Waits until more may be written or the body has ended. A reader that does not take the written bytes within
   * `slowReader.timeoutMs` is disconnected.
   */
  waitForDrain(): Promise<void>;
  /** Aborts the body as an error on the wire, so that the reader cannot mistake a part for the whole. */
  breakOff(why: "stalled" | "failed"): void;
}

/** True for a body that is generated while it is written. */
export function isSource(body: HttpResponse["body"]): body is BodySource {
  return typeof body === "object" && "writeTo" in body;
}

/** Allowed characters of headers. Node.js and the Fetch API throw for others. */
const legalName = /^[\w!#$%&'*+.^`|~-]+$/;
const legalValue = /^[\t -~\x80-\xff]*$/;

/**
 * Returns the headers of an answer, names and values alternating: first the common ones and the request id, then its
 * own. Illegal ones are dropped.
 */
export function headOf(
  { headers = none, type }: HttpResponse,
  { target, requestId }: Pick<HttpRequest, "target" | "requestId">,
): string[] {
  const head = [...target.headers, REQUEST_ID_HEADER, requestId];
  for (const [name, value] of headers) {
    if (!legalName.test(name) || !legalValue.test(value)) continue;
    if (name === "vary") addVary(head, value);
    else setHeader(head, name, value);
  }
  if (type !== undefined) setHeader(head, "content-type", type);
  return head;
}

const none: HeaderPairs = [];

/** Sets a header in a list of names and values. */
function setHeader(head: string[], name: string, value: string): void {
  for (let i = 0; i < head.length; i += 2) {
    if (head[i] === name) {
      head[i + 1] = value;
      return;
    }
  }
  head.push(name, value);
}

/** Appends to `Vary`. */
function addVary(head: string[], value: string): void {
  const at = head.indexOf("vary");
  setHeader(head, "vary", at >= 0 && at % 2 === 0 ? `${head[at + 1]}, ${value}` : value);
}
