import { newRequestId } from "./ids.js";

/** Header, or metadata, of the request id in requests and in answers. */
export const REQUEST_ID_HEADER = "x-request-id";

/** A request id that is safe in log lines and headers: visible ASCII, at most 128 characters. */
const form = /^[\x21-\x7e]{1,128}$/;

/**
 * Returns the client's request id if it is valid, and a new one otherwise. Repeated headers are joined by a comma and a
 * space, so they are not valid.
 */
export function requestIdOf(header: string | undefined): string {
  return header !== undefined && form.test(header) ? header : newRequestId();
}
