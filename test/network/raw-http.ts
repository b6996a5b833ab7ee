import * as http from "node:http";
import * as http2 from "node:http2";
import * as net from "node:net";
import type { Readable, Writable } from "node:stream";
import type { Figures } from "../support/figures.js";
import { cleanup } from "./serve.js";

/** A request as it goes over the wire. */
export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  /** Sends the body in two pieces with a pause between them. */
  readonly inPieces?: boolean;
}

export interface RawAnswer {
  readonly status: number;
  /** Headers and trailers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Sends a request and returns the whole answer. Rejects if the server sends none. */
export type Send = (request: RawRequest) => Promise<RawAnswer>;

/** Timeout of an answer, in milliseconds: much longer than any of them takes. */
const PATIENCE_MS = 60_000;

/** A client of a port that speaks HTTP/1.1, on connections that are kept. */
export function http1(port: number): Send {
  // An idle connection has no other listener for its errors.
  const createConnection = (options: net.NetConnectOpts) => net.connect(options).on("error", () => {});
  const agent = Object.assign(new http.Agent({ keepAlive: true }), { createConnection });
  cleanup(() => agent.destroy());
  return async ({ method = "POST", path, headers = {}, body, inPieces = false }) => {
    const length = body === undefined ? {} : { "content-length": `${Buffer.byteLength(body)}` };
    const options = { host: "127.0.0.1", port, method, path, agent, headers: { ...length, ...headers } };
    const request = http.request({ ...options, timeout: PATIENCE_MS });
    request.once("timeout", () => request.destroy(new Error("no answer")));
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.once("response", resolve).on("error", reject);
      if (body !== undefined && inPieces) sendInPieces(request, Buffer.from(body));
      else request.end(body);
    });
    const bytes = await bytesOf(response);
    const all = { ...textsOf(response.headers), ...textsOf(response.trailers) };
    return { status: response.statusCode ?? 0, headers: all, body: bytes };
  };
}

/** A client of a port that speaks HTTP/2. It keeps one connection until that ends. */
export function http2Client(port: number): Send {
  let session: http2.ClientHttp2Session | undefined;
  cleanup(() => session?.destroy());
  return async ({ method = "POST", path, headers = {}, body, inPieces = false }) => {
    if (session === undefined || session.closed || session.destroyed) session = connect(port);
    const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body === undefined });
    stream.setTimeout(PATIENCE_MS, () => stream.destroy(new Error("no answer")));
    let answer: http2.IncomingHttpHeaders & { ":status"?: number | undefined } = {};
    let trailers: http2.IncomingHttpHeaders = {};
    stream.once("response", (head) => {
      answer = head;
    });
    stream.once("trailers", (tail) => {
      trailers = tail;
    });
    if (body !== undefined && inPieces) sendInPieces(stream, Buffer.from(body));
    else if (body !== undefined) stream.end(body);
    const bytes = await bytesOf(stream);
    return { status: answer[":status"] ?? 0, headers: { ...textsOf(answer), ...textsOf(trailers) }, body: bytes };
  };
}

/**
 * Makes calls of a well-behaved caller to a server under attack, each on a connection of its own. It repeats a call whose
 * connection is lost: a server with short time limits takes the caller for a silent one if this process is busy.
 */
export function callBeside(figures: Figures, port: number, calls = 5): Promise<void> {
  const call = async (): Promise<void> => {
    try {
      const { status } = await http1(port)({ method: "GET", path: "/tasks?pageSize=1" });
      if (status !== 200) throw new Error(`a well-behaved caller got ${status}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ECONNRESET") throw error;
      await call();
    }
  };
  return figures.during(calls, call);
}

/** Delay of the second piece, in milliseconds. */
const PAUSE_MS = 50;

function sendInPieces(stream: Writable, body: Buffer): void {
  const middle = body.length >> 1;
  stream.on("error", () => {});
  stream.write(body.subarray(0, middle));
  setTimeout(() => stream.writable && stream.end(body.subarray(middle)), PAUSE_MS);
}

/** An HTTP/2 connection whose errors do not fail the test. */
export function connect(port: number, settings: http2.Settings = {}): http2.ClientHttp2Session {
  const session = http2.connect(`http://127.0.0.1:${port}`, { settings });
  session.on("error", () => {});
  cleanup(() => session.destroy());
  return session;
}

async function bytesOf(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function textsOf(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => !name.startsWith(":"));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}
