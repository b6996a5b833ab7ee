import type { CallStart } from "../core/call.js";
import { A2AError, type Reason } from "../core/error.js";
import { A2A_JSON_TYPE, essenceOf, isJsonType, JSON_TYPE, parameterOf } from "../wire/media-type.js";

/**
 * Refuses a body whose media type is not JSON in UTF-8 (specification 14.1.1). Every binding accepts both JSON types, with
 * any parameters. A body without a media type is accepted too, unless a web page may have sent it: browsers let pages send
 * such a body, and a few other media types, without asking the server first (WHATWG Fetch, 3.2.2).
 *
 * @param reason of the error: bindings with paths answer with HTTP's 415, JSON-RPC has a code of its own (9.5).
 * @throws A2AError with this reason.
 */
export function checkBodyType(
  request: Pick<CallStart, "header">,
  reason: Reason & ("MEDIA_TYPE_NOT_SUPPORTED" | "CONTENT_TYPE_NOT_SUPPORTED") = "MEDIA_TYPE_NOT_SUPPORTED",
): void {
  const type = request.header("content-type");
  if (type === undefined && request.header("origin") !== undefined) {
    throw unsupportedMediaType(reason, `${A2A_JSON_TYPE} or ${JSON_TYPE}, and says so`);
  }
  if (type !== undefined && !isJsonType(type))
    throw unsupportedMediaType(reason, `${A2A_JSON_TYPE} or ${JSON_TYPE} in UTF-8`);
  const coding = request.header("content-encoding");
  if (coding !== undefined && !/^(?:identity)?$/i.test(coding))
    throw unsupportedMediaType(reason, "a body without content coding");
}

function unsupportedMediaType(reason: Reason, expected: string): A2AError {
  return new A2AError(reason, `Unsupported media type: expected ${expected}.`);
}

/**
 * Returns the JSON media type of an answer: that of the protocol, unless the client prefers plain JSON (RFC 9110,
 * 12.5.1). A client that accepts neither gets the protocol's.
 *
 * @param own media type of the protocol's version. A version that only has plain JSON answers only in it.
 */
export function answerType(accept: string | undefined, own: string = A2A_JSON_TYPE): string {
  if (accept === undefined || accept === "*/*" || own === JSON_TYPE) return own;
  const ranges = accept.split(",").map(rangeOf);
  return qualityOf(JSON_TYPE, ranges) > qualityOf(own, ranges) ? JSON_TYPE : own;
}

/**
 * Returns the JSON media type of an error. If the client accepts a JSON type, it is that of an answer. Otherwise it is
 * plain JSON if the request has that type, or if it has no type and accepts an event stream, and else the protocol's.
 */
export function errorType(request: Pick<CallStart, "header">, own: string = A2A_JSON_TYPE): string {
  const accept = request.header("accept");
  const namesJson = accept !== undefined && /application\/(?:json|a2a\+json|\*)/i.test(accept);
  if (namesJson) return answerType(accept, own);
  const sent = request.header("content-type");
  if (sent === undefined && accept !== undefined && /text\/event-stream/i.test(accept)) return JSON_TYPE;
  return essenceOf(sent ?? "") === JSON_TYPE ? JSON_TYPE : own;
}

interface Range {
  readonly type: string;
  readonly quality: number;
}

function rangeOf(text: string): Range {
  const quality = parameterOf(text, "q");
  return { type: essenceOf(text), quality: quality === undefined ? 1 : Number(quality) || 0 };
}

/** Returns the quality of the most specific matching range. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  for (const candidate of [type, "application/*", "*/*"]) {
    const range = ranges.find((each) => each.type === candidate);
    if (range !== undefined) return range.quality;
  }
  return 0;
}
