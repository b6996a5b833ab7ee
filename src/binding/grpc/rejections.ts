import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Peer } from "../../core/call.js";
import { StatusCode, type StatusName, statusNameOf } from "../../core/error.js";
import { REQUEST_ID_HEADER } from "../../core/ids.js";
import type { RejectionLog } from "../../service/interceptors/access-log.js";

/** Key that marks a stream as a call of a registered method. */
const calledKey: unique symbol = Symbol("called");

type MarkedStream = object & { [calledKey]?: true };

/** Marks a stream as a call of a registered method, which has its own line in the access log. */
export function noteCalled(stream: MarkedStream): void {
  stream[calledKey] = true;
}

/** The origin of a stream, and the log of its rejection. */
interface Watcher {
  readonly peer: Peer;
  readonly onRejection: RejectionLog;
}

/**
 * Logs a stream of the gRPC port that ends before it became a call: its method is unknown, or its request is too large
 * or too late. Health and reflection are not logged.
 */
export function watchStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { peer, onRejection }: Watcher,
): void {
  const path = headers[":path"] ?? "";
  if (path.startsWith("/grpc.")) return;
  const began = performance.now();
  stream.once("close", () => {
    const own: ServerHttp2Stream & MarkedStream = stream;
    if (own[calledKey]) return;
    const ms = Math.round(performance.now() - began);
    const header = (name: string): string | undefined => headers[name]?.toString();
    const requestId = stream.sentHeaders?.[REQUEST_ID_HEADER]?.toString();
    onRejection({ binding: "grpc", code: codeOf(stream), ms, path, from: { peer, header, requestId } });
  });
}

/** Returns the name of a stream's final status. A stream without a status was canceled by its client. */
function codeOf({ sentHeaders, sentTrailers }: ServerHttp2Stream): StatusName {
  return statusNameOf(Number((sentTrailers ?? sentHeaders)?.["grpc-status"] ?? StatusCode.CANCELLED));
}
