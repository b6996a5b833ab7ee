import { ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { endStreamFlag, endStreamToJson, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { A2AError } from "../../core/error.js";
import type { NodeServerRequest, NodeServerResponse } from "../binding.js";
import { discard } from "../http-body.js";
import { jsonOptions } from "./definition.js";

/** Whether a request says that it is gRPC or gRPC-Web, wherever it goes. */
export function isGrpc(request: NodeServerRequest): boolean {
  return /^application\/grpc(?:$|[-+;])/i.test(request.headers["content-type"] ?? "");
}

/**
 * Answers a request with an error without looking further at it, in the form of the protocol that it says it speaks. The
 * answer is one piece: of gRPC a status and nothing else ("Trailers-Only" of PROTOCOL-HTTP2, whose HEADERS have to
 * carry END_STREAM; clients that get more, or a status of HTTP, can only guess).
 */
export function refuse(request: NodeServerRequest, response: NodeServerResponse, error: A2AError): void {
  discard({ request, response });
  const type = request.headers["content-type"] ?? "";
  if (isGrpc(request)) {
    for (const [name, value] of setTrailerStatus(new Headers(), error)) response.setHeader(name, value);
    response.setHeader("content-type", type);
    // Not writeHead(): only what is ended before its headers leave has END_STREAM on them.
    response.statusCode = 200;
    response.end();
    return;
  }
  for (const [name, value] of error.metadata) response.setHeader(name, value);
  if (/^application\/connect\+/i.test(type)) {
    const last = endStreamToJson(new Headers(), ConnectError.from(error), jsonOptions);
    response.setHeader("content-type", type);
    response.statusCode = 200;
    response.end(encodeEnvelope(endStreamFlag, Buffer.from(JSON.stringify(last))));
    return;
  }
  response.setHeader("content-type", "application/json");
  response.statusCode = error.row.http;
  response.end(errorToJsonBytes(error, jsonOptions));
}
