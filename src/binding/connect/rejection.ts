import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { endStreamFlag, endStreamToJson, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { A2AError } from "../../core/error.js";
import type { HttpRequest } from "../../http/request.js";
import { type HttpResponse, rejectionOf } from "../../http/response.js";
import { isConnectStreamType } from "../../wire/media-type.js";
import { jsonOptions } from "./definition.js";
import { connectErrorOf } from "./error.js";
import { isGrpc } from "./protocol.js";

/**
 * Rejects a request in the form of the protocol that its media type declares, without reading it. The answer is one
 * chunk. Over gRPC it is only a status ("Trailers-Only" of PROTOCOL-HTTP2, whose HEADERS must carry END_STREAM);
 * clients that receive more, or an HTTP error status, can only guess the error.
 */
export function refuse(request: HttpRequest, error: A2AError, method?: string): HttpResponse {
  request.discard();
  return { ...rejection(request, error), rejections: [rejectionOf("connect", error, method)] };
}

function rejection(request: HttpRequest, error: A2AError): HttpResponse {
  const type = request.header("content-type") ?? "";
  if (isGrpc(request)) return { status: 200, type, headers: setTrailerStatus(new Headers(), connectErrorOf(error)) };
  if (isConnectStreamType(type)) {
    const last = endStreamToJson(new Headers(), connectErrorOf(error), jsonOptions);
    const body = encodeEnvelope(endStreamFlag, Buffer.from(JSON.stringify(last)));
    return { status: 200, type, headers: error.headers, body };
  }
  const body = errorToJsonBytes(connectErrorOf(error), jsonOptions);
  return { status: error.row.http, type: "application/json", headers: error.headers, body };
}
