import { IncomingMessage } from "node:http";
import type { NodeServerRequest } from "./types.js";

/**
 * A request whose body can be read once more, where a body parser of the surrounding framework has read it before and
 * left the result in `body`, as `express.json()` does. What was read is put into a request of the same connection;
 * an object is written as JSON again, which loses nothing that a reader of JSON would see.
 *
 * @throws where nothing is left of the body.
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
  // The parser has undone any encoding, and its text may be shorter or longer than what came in.
  const { "content-encoding": _encoding, "transfer-encoding": _transfer, ...headers } = request.headers;
  replayed.headers = { ...headers, "content-length": `${bytes.byteLength}` };
  replayed.complete = true;
  replayed.push(bytes);
  replayed.push(null);
  return replayed;
}
