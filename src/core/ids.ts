import { allocate, hexOf } from "./bytes.js";
import { defined } from "./members.js";

let lastMs = -1;
let prefix = "";
/** Number of ids of this millisecond, in the 12 bits before the variant (RFC 9562, 6.2, method 1). */
let count = 0;
const MAX_COUNT = 0xfff;
/** The counts as three hexadecimal digits, made when they are first needed. */
const numbers: string[] = [];

/**
 * Number of ids whose random bytes are generated at once: 8 bytes for each.
 */
const STOCK = 500;
const ID_BYTES = 8;

const bytes = allocate(STOCK * ID_BYTES);
let stock = "";
let at = 0;

function restock(): void {
  crypto.getRandomValues(bytes);
  // The upper bits of the first byte are the variant of the UUID (RFC 9562, 4.1).
  for (let i = 0; i < bytes.length; i += ID_BYTES) bytes[i] = (defined(bytes[i]) & 0x3f) | 0x80;
  stock = hexOf(bytes);
  at = 0;
}

let source: (() => string) | undefined;

/** Replaces the source of ids in this process, for tests that need predictable ones; undefined restores it. */
export function useIds(ids: (() => string) | undefined): void {
  source = ids;
}

/**
 * Returns a new identifier of a task, context, message or artifact: a UUID of version 7 (RFC 9562, 5.7), so that
 * consecutive ids are adjacent in an index. Up to 4,096 ids of one process and millisecond sort in the order of their
 * creation. It is cut from a hexadecimal text for many ids, which takes half the time of Node's `randomUUID`. Clients
 * treat it as opaque (specification 3.4.2).
 */
export function newId(): string {
  if (source !== undefined) return source();
  const now = Date.now();
  if (now === lastMs) count = (count + 1) & MAX_COUNT;
  else {
    lastMs = now;
    count = 0;
    const time = now.toString(16).padStart(12, "0");
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  }
  if (at === stock.length) restock();
  const from = at;
  at += 2 * ID_BYTES;
  numbers[count] ??= (0x1000 + count).toString(16).slice(1);
  return `${prefix}${numbers[count]}-${stock.slice(from, from + 4)}-${stock.slice(from + 4, at)}`;
}

const newIdForm = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** True if a text has the form of the ids of `newId`. Those of tests may have any. */
export function isNewId(text: string): boolean {
  return newIdForm.test(text) || source !== undefined;
}

/** Created on first use, because some runtimes have no random numbers while modules are loaded. */
let process = "";
let requests = 0;

/**
 * Returns a new identifier of a request. It is cheaper than `newId` and half as long, because every answer carries it: a
 * counter after 62 random bits of the process.
 */
function newRequestId(): string {
  if (requests === 0) process = newId().slice("xxxxxxxx-xxxx-7xxx-".length);
  requests += 1;
  return `${process}-${requests.toString(36)}`;
}

/** Header, or metadata, of the request id in requests and in answers. */
export const REQUEST_ID_HEADER = "x-request-id";

/** A request id that is safe in log lines and headers: visible ASCII, at most 128 characters. */
const requestIdForm = /^[\x21-\x7e]{1,128}$/;

/**
 * Returns the client's request id if it is valid, and a new one otherwise. Repeated headers are joined by a comma and a
 * space, so they are not valid.
 */
export function requestIdOf(header: string | undefined): string {
  return header !== undefined && requestIdForm.test(header) ? header : newRequestId();
}

/**
 * W3C Trace Context, version 00 and later. Version ff and ids of zeros are not valid. Version 00 ends with the flags; later
 * ones may continue, up to 256 characters in all.
 */
const traceParentForm =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[\x20-\x7e]{0,200})?$/;

/** Tells whether a text is a valid `traceparent`, of any version. It is stored with each entry of a turn. */
export function isTraceParent(text: string): boolean {
  return traceParentForm.test(text);
}

/** Returns the trace id of a valid `traceparent` (W3C Trace Context, 3.2). */
export function traceIdOf(traceParent: string): string {
  return traceParent.slice(3, 35);
}
