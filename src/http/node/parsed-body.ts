import { IncomingMessage } from "node:http";
import type { NodeServerRequest } from "./types.js";

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
