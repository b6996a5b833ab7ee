import type { Message } from "@bufbuild/protobuf";
import type { Asked, Serve } from "./serve.js";

/** One more call of the service for the same call of a client, which may have a stream open: it is counted by itself. */
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

/**
 * The events of a stream, each converted. Not an async generator: one that waits for its next event holds back `return()` until that
 * has come, and a client that leaves would be noticed late.
 */
export function mapEvents<M extends Message>(events: AsyncIterable<M>, convert: (event: M) => M): AsyncIterable<M> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = events[Symbol.asyncIterator]();
      return {
        next: async () => {
          const result = await iterator.next();
          return result.done === true ? result : { done: false, value: convert(result.value) };
        },
        return: async () => {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
