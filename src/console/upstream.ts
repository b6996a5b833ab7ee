import * as http from "node:http";
import * as https from "node:https";
import type { LookupFunction } from "node:net";
import { pipeline } from "node:stream";
import { membersOf } from "../core/members.js";
import { withoutBrackets } from "../core/net.js";
import type { HttpRequest } from "../http/request.js";
import type { BodySource, BodyWriter, HttpResponse } from "../http/response.js";
import { headersFromAgent } from "./relay-headers.js";

/** Times and sizes of requests that are passed on. */
export const upstreamLimits: Readonly<Record<"headMs" | "idleMs" | "headBytes" | "informational", number>> = {
  /** Time until the head of the answer, in milliseconds. A blocking call lasts as long as the task of the agent. */
  headMs: 600_000,
  /** Time without a byte in either direction, in milliseconds. Streams of waiting tasks are silent for long. */
  idleMs: 3_600_000,
  /** Size of the head of the answer in bytes. */
  headBytes: 64 * 1024,
  /** Informational answers (1xx) before it. */
  informational: 100,
};

/** The target of a request that is passed on. */
export interface Upstream {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Path of a Unix socket to connect to, in place of the host. */
  readonly socketPath?: string | undefined;
  /** Resolves the host. Default: the system's resolver. */
  readonly lookup?: LookupFunction | undefined;
}

/** Thrown if no answer came. The message is one plain sentence. */
export class NoAnswer extends Error {
  override name = "NoAnswer";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

// Each request has a connection of its own. It asks the other side to keep the connection, though: one that is closed
// right after the answer may break an empty write of Node.js at the end of the request, and the answer is lost.
const inClear = Object.assign(new http.Agent({ keepAlive: true }), { keepSocketAlive: () => false });
const overTls = Object.assign(new https.Agent({ keepAlive: true }), { keepSocketAlive: () => false });

/**
 * Passes a request on over HTTP/1.1, and returns the answer once its head has arrived. Redirects are not followed. The
 * request is cancelled when its client leaves.
 *
 * @throws NoAnswer
 */
export async function passOn(request: HttpRequest, upstream: Upstream): Promise<HttpResponse> {
  let stop = (): void => {};
  try {
    const outgoing = open(request, upstream);
    stop = request.onCancel(() => outgoing.destroy());
    const answer = await responseHead(outgoing, () => sendBody(request, upstream, outgoing));
    // The reader of the body gets the error.
    answer.on("error", () => {});
    outgoing.setTimeout(upstreamLimits.idleMs, () => outgoing.destroy());
    const headers = headersFromAgent(answer.headers);
    return { status: answer.statusCode ?? 502, headers, body: new UpstreamBody(answer) };
  } catch (error) {
    stop();
    throw noAnswer(error, upstream);
  }
}

function open(request: HttpRequest, { url, method, headers, socketPath, lookup }: Upstream): http.ClientRequest {
  const length = bodyLength(request, method);
  const options: http.RequestOptions = {
    method,
    host: withoutBrackets(url.hostname),
    path: url.pathname + url.search,
    headers: { ...headers, ...(typeof length === "number" && { "content-length": length }) },
    agent: url.protocol === "https:" ? overTls : inClear,
    maxHeaderSize: upstreamLimits.headBytes,
    ...(url.port !== "" && { port: url.port }),
    ...(lookup !== undefined && { lookup }),
    ...(socketPath !== undefined && { socketPath }),
  };
  return url.protocol === "https:" ? https.request(options) : http.request(options);
}

/** Returns the length of the body to send; `unknown` for a body in chunks, undefined for none. */
function bodyLength(request: HttpRequest, method: string): number | "unknown" | undefined {
  if (method === "GET" || method === "HEAD") return undefined;
  const length = request.header("content-length");
  if (length !== undefined) return Number(length);
  const isChunked = request.header("transfer-encoding") !== undefined || !request.httpVersion.startsWith("1.");
  return isChunked ? "unknown" : 0;
}

function sendBody(request: HttpRequest, { method }: Upstream, outgoing: http.ClientRequest): void {
  const length = bodyLength(request, method);
  if (length === undefined || length === 0) outgoing.end();
  // Its errors are those of the request. An agent may answer before it has read everything.
  else pipeline(request.chunks(), outgoing, () => {});
}

/** Waits for the head of the answer. */
function responseHead(outgoing: http.ClientRequest, begin: () => void): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      outgoing.destroy(new NoAnswer("ETIMEDOUT", "The agent has not answered in time."));
    }, upstreamLimits.headMs);
    outgoing.once("response", (answer) => {
      clearTimeout(timer);
      if (isFinal(answer)) resolve(answer);
      else outgoing.destroy(answer.statusCode === 101 ? upgraded() : noHttp("ERR_INVALID_STATUS"));
    });
    let informational = 0;
    outgoing.on("information", () => {
      if (++informational > upstreamLimits.informational) outgoing.destroy(noHttp("ERR_INFORMATIONAL"));
    });
    // An agent that answers by another protocol.
    outgoing.once("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(upgraded());
    });
    // Stays for errors after the answer, which its body reports.
    outgoing.on("error", reject);
    outgoing.once("close", () => {
      clearTimeout(timer);
      reject(new NoAnswer("ECONNRESET", "The agent closed the connection before it answered."));
    });
    begin();
  });
}

/** True for a status that ends a request. Node.js and the Fetch API write no others, and a proxy may act on them. */
function isFinal({ statusCode = 0 }: http.IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 600;
}

function upgraded(): NoAnswer {
  return new NoAnswer("ERR_UPGRADE", "The agent answered by another protocol than HTTP.");
}

function noHttp(code: string): NoAnswer {
  return new NoAnswer(code, "The agent does not answer by HTTP.");
}

/** The body of an answer, which is written as it arrives. */
class UpstreamBody implements BodySource {
  readonly #answer: http.IncomingMessage;

  constructor(answer: http.IncomingMessage) {
    this.#answer = answer;
  }

  async writeTo(writer: BodyWriter): Promise<boolean> {
    try {
      for await (const chunk of this.#answer as AsyncIterable<Uint8Array>) {
        if (writer.isOver) return false;
        if (!writer.write(chunk)) await writer.waitForDrain();
      }
      return !writer.isOver;
    } catch {
      // The agent or the network ended it early.
      writer.breakOff("failed");
      return false;
    } finally {
      this.cancel();
    }
  }

  cancel(): void {
    this.#answer.destroy();
  }
}

const sentences: Readonly<Record<string, string>> = {
  EAI_AGAIN: "The host cannot be looked up at the moment.",
  ECONNREFUSED: "Nothing listens at this address.",
  ECONNRESET: "The agent closed the connection before it answered.",
  EHOSTUNREACH: "The host cannot be reached.",
  ENETUNREACH: "The network of the host cannot be reached.",
  ENOENT: "The socket does not exist.",
  ENOTFOUND: "The host does not exist.",
  EPROTO: "The agent does not answer by TLS.",
  ERR_FORBIDDEN_TARGET: "The host has an address that is not public, which this console does not call.",
  ETIMEDOUT: "The host does not answer.",
  HPE_HEADER_OVERFLOW: "The headers of the answer are too large.",
};

/** Returns the error of a request without an answer. Its text has nothing of the request. */
function noAnswer(error: unknown, { url }: Upstream): NoAnswer {
  if (error instanceof NoAnswer) return error;
  const found = membersOf(error);
  // Several addresses of a host were tried.
  const first = Array.isArray(found.errors) ? membersOf(found.errors[0]).code : undefined;
  const given = found.code ?? first;
  const code = typeof given === "string" ? given : "EUNKNOWN";
  const text = sentences[code] ?? otherwise(code, url);
  return new NoAnswer(code, text, { cause: error });
}

function otherwise(code: string, { protocol }: URL): string {
  if (code.startsWith("HPE_")) return noHttp(code).message;
  if (protocol === "https:" && /CERT|UNABLE_TO|ALTNAME|SIGNATURE/.test(code)) {
    return `The certificate of the host is not accepted (${code}).`;
  }
  return `The host cannot be reached (${code}).`;
}
