import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Call } from "../core/call.js";
import { mapStream } from "../core/map-stream.js";

/** One call in some version of the protocol: a method of a descriptor and its request. */
export interface MethodInvocation {
  readonly method: DescMethod;
  readonly request: Message;
  readonly call: Call;
}

/** Answers calls with a message, or, for a server-streaming method, with messages. An `Invoke` is one. */
export type MethodHandler = (asked: MethodInvocation) => Promise<Message | AsyncIterable<Message>>;

/** Calls the service again within a client's call, which may have a stream open. The call is counted separately. */
export async function again(
  service: MethodHandler,
  asked: MethodInvocation,
): Promise<Awaited<ReturnType<MethodHandler>>> {
  const { call } = asked;
  const { share, held } = call;
  call.share = undefined;
  call.held = undefined;
  try {
    return await service(asked);
  } finally {
    call.share = share;
    call.held = held;
  }
}

/** Converts an answer, or each message of a stream. */
export function mapAnswer<M extends Message>(
  answer: M | AsyncIterable<M>,
  item: (message: M) => M,
): M | AsyncIterable<M> {
  return Symbol.asyncIterator in answer ? mapStream(answer, { item }) : item(answer);
}
