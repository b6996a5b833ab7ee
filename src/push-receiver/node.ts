import { membersOf } from "../core/members.js";
import type { Handling, PushAnswer, PushHandler } from "./handling.js";
import { collect, cutOff, type PushHeaders, type PushRequest } from "./request.js";

/** The parts of a request of `node:http`, `node:http2` or Express that the receiver needs. */
export interface NodePushRequest extends AsyncIterable<Uint8Array | string> {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly headersDistinct?: Readonly<Record<string, string[] | undefined>>;
  readonly httpVersionMajor?: number;
  /** True if the body was read already. */
  readonly readableDidRead?: boolean;
  /** The body as parsed by a framework. */
  readonly body?: unknown;
}

/** The response to it. */
export interface NodePushResponse {
  statusCode: number;
  /** Sets a header, before `end`. */
  setHeader(name: string, value: string): unknown;
  /** Sends it. */
  end(body: string): unknown;
}

/** A listener of `node:http`, and a handler of Express. */
export type NodePushHandler = (request: NodePushRequest, response: NodePushResponse) => Promise<void>;

export function nodeHandler(handling: Handling, handle: PushHandler, maxBytes: number): NodePushHandler {
  return async (request, response) => {
    sendAnswer(await handling.answer(() => pushRequest(request, maxBytes), handle), request, response);
  };
}

async function pushRequest(request: NodePushRequest, maxBytes: number): Promise<PushRequest> {
  // For a repeated header Node.js returns the first one, or both joined.
  const headers: PushHeaders = request.headersDistinct ?? request.headers;
  const { method, body } = request;
  return { method, headers, body: await unparsedBody(request, body, maxBytes) };
}

async function unparsedBody(request: NodePushRequest, body: unknown, maxBytes: number): Promise<Uint8Array | string> {
  if (body instanceof Uint8Array || typeof body === "string") return body;
  if (request.readableDidRead !== true) return collect(request, maxBytes).catch(rethrown);
  throw new TypeError(
    "The body was parsed before the receiver saw it, and signatures are over bytes: mount it before the parser, or parse with express.raw().",
  );
}

/** Codes of a connection that ended during a request, over HTTP/1.1 and HTTP/2. */
const disconnects: ReadonlySet<unknown> = new Set(["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"]);

/** Throws the error of a body, which is a refusal if its sender has disconnected. */
function rethrown(error: unknown): never {
  if (!disconnects.has(membersOf(error).code)) throw error;
  throw cutOff(error);
}

function sendAnswer({ status, headers, text }: PushAnswer, request: NodePushRequest, response: NodePushResponse): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // Does not wait for the rest of an oversized request.
  if (status === 413 && request.httpVersionMajor === 1) response.setHeader("connection", "close");
  response.end(text);
}
