import type { Message } from "@bufbuild/protobuf";
import { mapStream } from "../core/map-stream.js";
import type { Asked, Serve } from "./serve.js";

/** Calls the service again within a client's call, which may have a stream open. The call is counted separately. */
export async function again(service: Serve, asked: Asked): Promise<Awaited<ReturnType<Serve>>> {
  const { call } = asked;
  const { share } = call;
  call.share = undefined;
  try {
    return await service(asked);
  } finally {
    call.share = share;
  }
}

/** Converts an answer, or each message of a stream. */
export function mapAnswer<M extends Message>(
  answer: M | AsyncIterable<M>,
  item: (message: M) => M,
): M | AsyncIterable<M> {
  return Symbol.asyncIterator in answer ? mapStream(answer, { item }) : item(answer);
}
