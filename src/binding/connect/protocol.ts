import type { HttpRequest } from "../../http/request.js";
import { isGrpcType, isGrpcWebType } from "../../wire/media-type.js";

/** Returns true if the media type of a request is that of gRPC or gRPC-Web, for any path. */
export function isGrpc(request: HttpRequest): boolean {
  return isGrpcType(request.header("content-type"));
}

/** Returns the protocol that a request's media type declares, by its name in calls. */
export function protocolOf(request: HttpRequest): string {
  if (!isGrpc(request)) return "connect";
  return isGrpcWebType(request.header("content-type")) ? "grpc-web" : "grpc";
}

/** Returns true for gRPC, but not gRPC-Web. */
export function needsTrailers(request: HttpRequest): boolean {
  return isGrpc(request) && !isGrpcWebType(request.header("content-type"));
}
