import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** A request on the HTTP port, HTTP/1.1 or HTTP/2. */
export type NodeServerRequest = IncomingMessage | Http2ServerRequest;

/** The response to a request on the HTTP port. */
export type NodeServerResponse = ServerResponse | Http2ServerResponse;
