/** Header names and values, in the order in which they win over each other: the last one does. */
export type HeaderPairs = Iterable<readonly [name: string, value: string]>;

/** An answer over HTTP as a value: bindings make it, and one adapter for each runtime writes it. */
export interface HttpResponse {
  readonly status: number;
  /** Media type of the body. It wins over a header of that name. */
  readonly type?: string | undefined;
  readonly headers?: HeaderPairs;
  /** Undefined: there is none. The length of what is whole is told by the adapter. */
  readonly body?: string | Uint8Array | BodySource | undefined;
  /** Known when the body has been written. Lost where the runtime has no trailers. */
  readonly trailers?: HeaderPairs | undefined;
}

/**
 * A body that is made while it is written, at the pace of its reader. Exactly one of the two is called, once.
 */
export interface BodySource {
  /**
   * Writes it; it is the writer's to end.
   *
   * @returns whether all of it was written. Otherwise the reader is gone, or was broken off.
   * @throws what it cannot be made for; a part of it may be out then.
   */
  writeTo(writer: BodyWriter): Promise<boolean>;
  /** Nobody will read it. */
  cancel(): void;
}

/** Where a body goes, in any runtime. */
export interface BodyWriter {
  /** Whether nothing is taken any more. */
  readonly isOver: boolean;
  /** Whether nothing more should be written for the moment. */
  readonly isBlocked: boolean;
  /** @returns false when no more should be written for the moment. */
  write(piece: string | Uint8Array): boolean;
  /**
   * Waits until more may be written, or it is over.
   *
   * @param stalledMs a reader who has not taken by then what was written is cut off, in milliseconds.
   */
  waitForDrain(stalledMs: number): Promise<void>;
  /** Breaks off, so that the reader cannot take what it has for the whole. */
  breakOff(why: "stalled" | "failed"): void;
}

/** Whether a body is made while it is written. */
export function isSource(body: HttpResponse["body"]): body is BodySource {
  return typeof body === "object" && "writeTo" in body;
}

/** What may stand in a header; Node throws at anything else, and so does the Fetch API. */
const legalName = /^[\w!#$%&'*+.^`|~-]+$/;
const legalValue = /^[\t -~\x80-\xff]*$/;

/**
 * The head of an answer, names and values in turns: first what every answer has, then its own, what is illegal left out.
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

/** Adds to the headers that the content depends on, where others have named theirs already. */
function addVary(head: string[], value: string): void {
  const at = head.indexOf("vary");
  put(head, "vary", at >= 0 && at % 2 === 0 ? `${head[at + 1]}, ${value}` : value);
}
