import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Peer } from "../../core/call.js";
import { StatusCode, type StatusName } from "../../core/error.js";
import type { RefusalLog } from "../../service/interceptors/access-log.js";

/** Where a stream says that it is a call of a method of ours. */
const calledKey: unique symbol = Symbol("called");

type Marked = object & { [calledKey]?: true };

/** Notes that a method of ours is called: the access log has a line of it anyway. */
export function noteCalled(stream: Marked): void {
  stream[calledKey] = true;
}

/** Where a stream comes from, and where its refusal is reported. */
export interface Watcher {
  readonly peer: Peer;
  readonly refused: RefusalLog;
}

/**
 * Logs a stream of the gRPC port that ends before it was a call of a method of ours: it has no such method, is too large
 * or comes too late. Health and reflection have no lines.
 */
export function watchStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, { peer, refused }: Watcher): void {
  const path = headers[":path"] ?? "";
  if (path.startsWith("/grpc.")) return;
  const began = performance.now();
  stream.once("close", () => {
    if ((stream as Marked)[calledKey]) return;
    const ms = Math.round(performance.now() - began);
    const header = (name: string): string | undefined => headers[name]?.toString();
    refused({ binding: "grpc", code: codeOf(stream), ms, path, from: { peer, header } });
  });
}

/** Name of the status that a stream ended with; one without a status was given up by its client. */
function codeOf({ sentHeaders, sentTrailers }: ServerHttp2Stream): StatusName {
  const status = Number((sentTrailers ?? sentHeaders)?.["grpc-status"] ?? StatusCode.CANCELLED);
  const [name = "UNKNOWN"] = Object.entries(StatusCode).find(([, code]) => code === status) ?? [];
  return name as StatusName;
}
