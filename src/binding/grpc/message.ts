import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Call } from "../../core/call.js";
import { A2AError } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import { notTheMessage, requestValues, tooManyValues } from "../../http/body.js";
import { PREFIX_BYTES } from "../../wire/binary-output.js";
import { binaryReader } from "../../wire/binary-reader.js";
import { exceedsBinary } from "../../wire/count-values.js";
import { protobufRequest } from "../../wire/field-rules.js";
import { binaryPieces } from "../../wire/large/large.js";
import { checkGrpcAnswer } from "../grpc-answer-size.js";

/** Returns the reader of a type's requests. The reader throws A2AError for malformed bytes and for too many values. */
export function requestReader(desc: DescMessage): (bytes: Uint8Array) => Message {
  const meant = protobufRequest(desc);
  const read = binaryReader(desc);
  return (bytes) => {
    try {
      if (exceedsBinary(desc, bytes, requestValues.max)) throw tooManyValues();
      return meant(read(bytes));
    } catch (error) {
      if (error instanceof A2AError) throw error;
      throw notTheMessage(desc, error);
    }
  };
}

/** The call that a large message answers. */
interface AnswerTo {
  readonly call: Call;
  readonly limits: Limits;
}

/**
 * Returns a large message in pieces, the first of which is its prefix.
 *
 * @throws A2AError with reason TOO_MANY_REQUESTS for a message above `maxGrpcAnswerBytes`
 */
export async function largeEnvelope(
  desc: DescMessage,
  message: Message,
  answered: AnswerTo,
): Promise<Iterable<Uint8Array>> {
  const { length, pieces } = await binaryPieces(desc, message);
  checkGrpcAnswer(length, answered.call, answered.limits);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(length, 1);
  return prefixed(prefix, pieces);
}

/** Returns a large message as a whole, for servers that cannot write it in pieces. @throws as `largeEnvelope` */
export async function wholeEnvelope(desc: DescMessage, message: Message, answered: AnswerTo): Promise<Uint8Array> {
  return Buffer.concat([...(await largeEnvelope(desc, message, answered))]);
}

function* prefixed(prefix: Uint8Array, pieces: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined> {
  yield prefix;
  yield* pieces;
}
