import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { StatusCode, type StatusName } from "../../core/error.js";
import type { RefusalLog } from "../../service/interceptors/access-log.js";
import { addressOf } from "./call.js";
import { streamOf } from "./http2-stream.js";

/** Where a stream says that it is a call of a method of ours. */
const calledKey: unique symbol = Symbol("called");

type Marked = object & { [calledKey]?: true };

/** Notes that a method of ours is called: the access log has a line of it anyway. */
export function noteCalled(grpc: object): void {
  const stream: Marked | undefined = streamOf(grpc);
  if (stream !== undefined) stream[calledKey] = true;
}

/**
 * Logs a stream of the gRPC port that ends before it was a call of a method of ours: grpc-js refuses by itself what has no
 * method, is too large or comes too late. Health and reflection have no lines.
 */
export function watchStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, refused: RefusalLog): void {
  const path = headers[":path"] ?? "";
  if (path.startsWith("/grpc.")) return;
  const began = performance.now();
  const { remoteAddress = "", remotePort = 0 } = stream.session?.socket ?? {};
  stream.once("close", () => {
    if ((stream as Marked)[calledKey]) return;
    const ms = Math.round(performance.now() - began);
    refused({ binding: "grpc", code: codeOf(stream), ms, path, peer: addressOf(`${remoteAddress}:${remotePort}`) });
  });
}

/** Name of the status that a stream ended with; one without a status was given up by its client. */
function codeOf({ sentHeaders, sentTrailers }: ServerHttp2Stream): StatusName {
  const status = Number((sentTrailers ?? sentHeaders)?.["grpc-status"] ?? StatusCode.CANCELLED);
  const [name = "UNKNOWN"] = Object.entries(StatusCode).find(([, code]) => code === status) ?? [];
  return name as StatusName;
}
