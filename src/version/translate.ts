import type { Message } from "@bufbuild/protobuf";
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

/**
 * Converts each event of a stream. Not an async generator, because a generator that waits for its next event delays
 * `return()` until then, so that a client's departure would be noticed late.
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
