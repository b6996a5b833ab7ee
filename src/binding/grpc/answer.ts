import { constants, type ServerHttp2Stream } from "node:http2";
import { status } from "@grpc/grpc-js";
import type { UnaryCall } from "./call.js";

/** What stands before a message: a flag for compression, and its length (PROTOCOL-HTTP2, "Length-Prefixed-Message"). */
export const PREFIX_BYTES = 5;

/** What grpc-js answers with. */
const HEADERS = {
  [constants.HTTP2_HEADER_STATUS]: 200,
  [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc+proto",
  "grpc-accept-encoding": "identity,deflate,gzip",
  "grpc-encoding": "identity",
};

/** Without `endStream` Node would make V8 describe a new kind of object for every call. */
const OPTIONS = { waitForTrailers: true, endStream: false };

const TRAILERS = { "grpc-status": status.OK, "grpc-message": "OK" };

/** What a call of grpc-js knows of its answer, where no interceptor stands before it. */
interface Unanswered {
  readonly stream: ServerHttp2Stream;
  metadataSent: boolean;
  wantTrailers: boolean;
  readonly callEventTracker: unknown;
  readonly shouldSendMetrics: boolean;
  readonly maxSendMessageSize: number;
}

/**
 * Answers a unary call with its one message, as grpc-js would: the same headers, bytes and trailers. It would make a
 * number of objects and closures for them, and end the stream only when the message has left; here message and end
 * leave together.
 *
 * @returns false where somebody else has a part in the answer (an interceptor, channelz, metrics, a limit, headers that
 * were sent), or the call is over, or grpc-js does not look as expected; nothing is written then.
 */
export function answerDirectly(grpc: UnaryCall, message: Buffer): boolean {
  const { call } = grpc as unknown as { call?: Partial<Unanswered> };
  if (!isUnanswered(call)) return false;
  const { stream } = call;
  if (stream.destroyed || stream.closed || stream.headersSent) return false;
  // From here on grpc-js itself sends nothing any more, as when the deadline passes.
  call.metadataSent = true;
  call.wantTrailers = true;
  stream.once("wantTrailers", onWantTrailers);
  stream.respond(HEADERS, OPTIONS);
  stream.end(framed(message));
  return true;
}

function isUnanswered(call: Partial<Unanswered> | undefined): call is Unanswered {
  return (
    typeof call?.stream?.respond === "function" &&
    call.metadataSent === false &&
    call.wantTrailers === false &&
    call.callEventTracker === null &&
    call.shouldSendMetrics === false &&
    call.maxSendMessageSize === -1
  );
}

function onWantTrailers(this: ServerHttp2Stream): void {
  this.sendTrailers(TRAILERS);
}

function framed(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, PREFIX_BYTES);
  return bytes;
}
