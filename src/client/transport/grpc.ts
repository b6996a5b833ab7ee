import type { Transport } from "@connectrpc/connect";
import type { Envelope } from "../../wire/envelopes.js";
import { badAnswer } from "../errors/answer-errors.js";
import type { HttpAnswer, HttpClient, TransportSettings } from "../platform.js";
import { cutOff, type FramedProtocol, framedTransport } from "./framed.js";
import type { RequestHeaders } from "./request-headers.js";
import { errorInTrailers } from "./wire-errors.js";

/** gRPC-Web, in binary: trailers are an envelope of the body. */
export function grpcWebTransport(settings: TransportSettings, http: HttpClient): Transport {
  return framedTransport(settings, http, grpcWeb);
}

/** gRPC (PROTOCOL-HTTP2): trailers are those of HTTP. @param http has to speak HTTP/2 and provide trailers */
export function grpcTransport(settings: TransportSettings, http: HttpClient): Transport {
  return framedTransport(settings, http, grpc);
}

const STATUS = "grpc-status";

/** Flag of the envelope with the trailers. */
const TRAILERS = 0x80;

/** Checks the status in the headers of an answer without messages (`Trailers-Only`). */
function checkHead(answer: HttpAnswer): void {
  if (answer.field !== undefined && answer.field("headers", STATUS) === undefined) return;
  const { headers } = answer;
  const error = headers.has(STATUS) ? errorInTrailers(headers, headers) : undefined;
  if (error !== undefined) throw error;
}

const grpcWeb: FramedProtocol = {
  contentType: "application/grpc-web+proto",
  prepare: (headers, timeoutMs) => {
    headers.set("x-grpc-web", "1");
    setTimeoutOf(headers, timeoutMs);
  },
  checkHead,
  isEnd: ({ flags }) => (flags & TRAILERS) !== 0,
  ended: (end: Envelope | undefined, answer: HttpAnswer) =>
    judged(end === undefined ? undefined : trailersIn(end.data), answer),
};

const grpc: FramedProtocol = {
  contentType: "application/grpc+proto",
  prepare: (headers, timeoutMs) => {
    headers.set("te", "trailers");
    setTimeoutOf(headers, timeoutMs);
  },
  checkHead,
  isEnd: () => false,
  ended: (_, answer: HttpAnswer) =>
    answer.field?.("trailers", STATUS) === "0" ? undefined : judged(answer.trailers, answer),
};

/** Returns the trailers if their status is OK. */
function judged(trailers: Headers | undefined, answer: HttpAnswer): Headers {
  const all = trailers?.has(STATUS) ? trailers : answer.headers.has(STATUS) ? answer.headers : undefined;
  if (all === undefined) throw cutOff();
  const error = errorInTrailers(all, answer.headers);
  if (error !== undefined) throw error;
  return all;
}

/** Maximum milliseconds in 8 digits; longer timeouts are sent in seconds. */
const MOST_MS = 99_999_999;

function setTimeoutOf(headers: RequestHeaders, timeoutMs: number | undefined): void {
  if (timeoutMs === undefined) return;
  const ms = Math.ceil(timeoutMs);
  headers.set("grpc-timeout", ms <= MOST_MS ? `${ms}m` : `${Math.min(MOST_MS, Math.ceil(ms / 1000))}S`);
}

/** Parses gRPC-Web trailers: lines of a name and a value. */
function trailersIn(data: Uint8Array): Headers {
  const trailers = new Headers();
  for (const line of new TextDecoder().decode(data).split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    try {
      trailers.append(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
    } catch {
      throw badAnswer("The trailers of the answer cannot be read.");
    }
  }
  return trailers;
}
