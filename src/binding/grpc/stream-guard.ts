import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Server } from "@grpc/grpc-js";
import type { A2AError } from "../../core/error.js";
import type { Logger } from "../../core/log.js";
import type { RefusalLog } from "../../service/interceptors/access-log.js";
import { grpcTimeoutMs } from "../../wire/timeout.js";
import { deadlineFault } from "../deadline.js";
import { statusOf } from "./error.js";
import { watchStream } from "./refusals.js";

type OnStream = (interceptors: unknown, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/**
 * Stands before grpc-js where a stream begins, for two things that it offers no place for: it looks at `grpc-timeout`
 * before any interceptor, with other eyes than the protocol (`-5S` is five seconds, and 30 days have passed at once); and
 * what it throws there would end the process. It watches streams for the access log, if there is one. Where a later version has no such function, nothing of this happens.
 */
export function guardStreams(server: Server, logger: Logger, refused?: RefusalLog): void {
  const hidden = server as unknown as { _streamHandler?: OnStream };
  const onStream = hidden._streamHandler;
  if (typeof onStream !== "function") return;
  hidden._streamHandler = (interceptors, stream, headers) => {
    try {
      if (refused !== undefined) watchStream(stream, headers, refused);
      if (headers[TIMEOUT] === undefined || isInTime(stream, headers))
        onStream.call(server, interceptors, stream, headers);
    } catch (error) {
      logger.error({ err: error }, "a call of gRPC could not be begun");
      stream.on("error", () => {}).close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  };
}

const TIMEOUT = "grpc-timeout";

/** Whether a call has time left; it is refused if not. */
function isInTime(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
  const fault = deadlineFault(grpcTimeoutMs(String(headers[TIMEOUT])));
  if (fault === "endless") delete headers[TIMEOUT];
  else if (fault !== undefined) refuse(stream, fault);
  return fault === undefined || fault === "endless";
}

function refuse(stream: ServerHttp2Stream, error: A2AError): void {
  const { code, details, metadata } = statusOf(error);
  stream.on("error", () => {}).resume();
  if (stream.destroyed || stream.closed) return;
  const status = { "grpc-status": code, "grpc-message": encodeURI(details), ...metadata.toHttp2Headers() };
  stream.respond({ ":status": 200, "content-type": "application/grpc+proto", ...status }, { endStream: true });
  setImmediate(() => stream.close());
}
