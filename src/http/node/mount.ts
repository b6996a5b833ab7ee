import { IncomingMessage } from "node:http";
import { mapStream } from "../../core/map-stream.js";
import { membersOf } from "../../core/members.js";
import { percentDecoded } from "../../core/net.js";
import type { NodeServerRequest } from "./types.js";

/** Mount path of the handler in a framework, and the rest of the URL. */
interface Mount {
  /** Path that was removed, without a slash at the end. */
  readonly path: string;
  readonly url: string;
}

/** Express's record of the path that it removed, and of its parameters. */
interface Mounted {
  readonly baseUrl?: unknown;
  readonly params?: Readonly<Record<string, unknown>> | null;
}

/**
 * Finds the mount path. Express moves the part of the path that its pattern matches to `baseUrl`. With a pattern that
 * ends in a wildcard, as NestJS mounts middleware (`/agents/*splat`), this is the whole path; the wildcard's part is
 * moved back to the URL here.
 */
export function mountOf(request: NodeServerRequest): Mount {
  const { baseUrl, params } = request as Mounted;
  const url = request.url ?? "/";
  if (typeof baseUrl !== "string" || baseUrl === "") return { path: "", url };
  const query = url === "/" ? "" : url.startsWith("/?") ? url.slice(1) : undefined;
  const matched = query === undefined ? undefined : wildcardOf(params);
  if (matched === undefined) return { path: baseUrl, url };
  // Express drops a trailing slash, which the wildcard has as an empty segment.
  const hasSlash = matched.at(-1) === "" && !baseUrl.endsWith("/");
  const pieces = baseUrl.split("/");
  const at = pieces.length - matched.length + (hasSlash ? 1 : 0);
  const rest = [...pieces.slice(at), ...(hasSlash ? [""] : [])];
  if (at < 1 || !rest.every((piece, i) => percentDecoded(piece) === matched[i])) return { path: baseUrl, url };
  return { path: pieces.slice(0, at).join("/"), url: `/${rest.join("/")}${query}` };
}

/** Returns the path segments that the only wildcard of a pattern matched. */
function wildcardOf(params: Mounted["params"]): readonly unknown[] | undefined {
  if (typeof params !== "object" || params === null) return undefined;
  const lists = Object.values(params).filter((value) => Array.isArray(value));
  return lists.length === 1 ? lists[0] : undefined;
}

/**
 * Returns a copy of a request whose body can be read again after a body parser of the framework has read it and put the
 * result into `body`, as `express.json()` does. A parsed object is serialized as JSON again, without loss for readers
 * of JSON.
 *
 * @throws if the body was read but is not in `body`.
 */
export function withParsedBody(request: NodeServerRequest): NodeServerRequest {
  const { body } = membersOf(request);
  if (body === undefined || !(request instanceof IncomingMessage)) {
    throw new Error("the body of a request was read before its handler saw it: mount the handler before body parsers");
  }
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const replayed = new IncomingMessage(request.socket);
  replayed.httpVersion = request.httpVersion;
  replayed.httpVersionMajor = request.httpVersionMajor;
  replayed.httpVersionMinor = request.httpVersionMinor;
  replayed.method = request.method;
  replayed.url = request.url;
  replayed.rawHeaders = request.rawHeaders;
  // The parser has decoded the body, so its length may differ from the received one.
  const { "content-encoding": _encoding, "transfer-encoding": _transfer, ...headers } = request.headers;
  replayed.headers = { ...headers, "content-length": `${bytes.byteLength}` };
  replayed.complete = true;
  replayed.push(bytes);
  replayed.push(null);
  return replayed;
}

/** Returns the bytes of a chunk of a body, which is text after middleware has called `setEncoding()`. */
export function bytesOfChunk(request: NodeServerRequest, chunk: Uint8Array | string): Uint8Array {
  return typeof chunk === "string" ? Buffer.from(chunk, request.readableEncoding ?? "utf8") : chunk;
}

/** Returns the chunks of a body as bytes. The request stays open if the reader stops early. */
export function bytesOfChunks(request: NodeServerRequest): AsyncIterable<Uint8Array> {
  const chunks: AsyncIterable<Uint8Array | string> = request.iterator({ destroyOnReturn: false });
  if (request.readableEncoding === null) return chunks as AsyncIterable<Uint8Array>;
  return mapStream(chunks, { item: (chunk) => bytesOfChunk(request, chunk) });
}
