import { IncomingMessage } from "node:http";
import type { NodeServerRequest } from "./types.js";

/** Where a framework has mounted the handler, and the rest of the URL below it. */
interface Mount {
  /** Path that was removed, without a slash at the end. */
  readonly path: string;
  readonly url: string;
}

/** What Express says about the path that it removed, and the parameters in it. */
interface Mounted {
  readonly baseUrl?: unknown;
  readonly params?: Readonly<Record<string, unknown>> | null;
}

/**
 * Express removes the part of the path that its pattern matches, and puts it into `baseUrl`. With a pattern that ends in a
 * wildcard, such as `/agents/*splat`, which is how NestJS mounts middleware, this is the whole path; what the wildcard matched
 * is not part of the mount point and belongs to the URL.
 */
export function mountOf(request: NodeServerRequest): Mount {
  const { baseUrl, params } = request as Mounted;
  const url = request.url ?? "/";
  if (typeof baseUrl !== "string" || baseUrl === "") return { path: "", url };
  const query = url === "/" ? "" : url.startsWith("/?") ? url.slice(1) : undefined;
  const matched = query === undefined ? undefined : wildcardOf(params);
  if (matched === undefined) return { path: baseUrl, url };
  // Express drops a slash at the end, which the wildcard has as an empty piece.
  const hasSlash = matched.at(-1) === "" && !baseUrl.endsWith("/");
  const pieces = baseUrl.split("/");
  const at = pieces.length - matched.length + (hasSlash ? 1 : 0);
  const rest = [...pieces.slice(at), ...(hasSlash ? [""] : [])];
  if (at < 1 || !rest.every((piece, i) => decoded(piece) === matched[i])) return { path: baseUrl, url };
  return { path: pieces.slice(0, at).join("/"), url: `/${rest.join("/")}${query}` };
}

/** Pieces that the one wildcard of a pattern has matched. */
function wildcardOf(params: Mounted["params"]): readonly unknown[] | undefined {
  if (typeof params !== "object" || params === null) return undefined;
  const lists = Object.values(params).filter((value) => Array.isArray(value));
  return lists.length === 1 ? lists[0] : undefined;
}

function decoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}

/**
 * A copy of a request whose body can be read again, where a body parser of the framework has read it before and put the
 * result into `body`, as `express.json()` does. A parsed object is written as JSON again, which loses nothing that a reader
 * of JSON would see.
 *
 * @throws where the body was read and is not in `body`.
 */
export function withParsedBody(request: NodeServerRequest): NodeServerRequest {
  const { body } = request as { body?: unknown };
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
  // The parser has decoded the body, so its length may differ from what was received.
  const { "content-encoding": _encoding, "transfer-encoding": _transfer, ...headers } = request.headers;
  replayed.headers = { ...headers, "content-length": `${bytes.byteLength}` };
  replayed.complete = true;
  replayed.push(bytes);
  replayed.push(null);
  return replayed;
}
