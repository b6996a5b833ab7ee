import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Limits } from "../../../core/limits.js";
import { NodeWriter } from "../../../http/node/writer.js";
import { writePieces } from "../../../http/pieces.js";
import { largeEnvelope } from "../message.js";
import { metadataFor, type StreamCall, type UnaryCall } from "./call.js";
import { streamOf } from "./http2-stream.js";

export interface LargeOptions {
  readonly limits: Limits;
  /** Sends the headers of the response, unless they are sent. */
  readonly begin: () => void;
}

/**
 * Writes a large message piece by piece, after everything written before and with the headers before it. grpc-js would
 * copy it as a whole for each of its readers.
 *
 * @returns false if that is not possible here; nothing is written then
 * @throws A2AError with reason TOO_MANY_REQUESTS for a message above `maxGrpcAnswerBytes`, before anything is written
 */
export async function writeLarge(
  grpc: UnaryCall | StreamCall,
  desc: DescMessage,
  message: Message,
  { limits, begin }: LargeOptions,
): Promise<boolean> {
  const pieces = await largeEnvelope(desc, message, limits);
  const stream = streamOf(grpc);
  if (stream === undefined) return false;
  begin();
  // Does nothing if headers were sent.
  grpc.sendMetadata(metadataFor(grpc));
  await writePieces(new NodeWriter(stream), pieces);
  return true;
}
