import type { Message } from "@bufbuild/protobuf";
import { generationOf, markGeneration } from "../wire/generation.js";
import { markWeight, weightOf } from "../wire/weight.js";
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
 * Notes on a translated message what was noted on the original: the generation, which is the `id:` of its event, and that
 * it is large. Without the second what is held for a large answer would be held for ever.
 */
export function carryMarks<M extends Message>(original: Message, translated: M): M {
  const generation = generationOf(original);
  if (generation !== undefined) markGeneration(translated, generation);
  return carryWeight(original, translated);
}

/** Notes on a translated message that the original is large. */
export function carryWeight<M extends Message>(original: Message, translated: M): M {
  const weight = weightOf(original);
  if (weight !== undefined) markWeight(translated, weight);
  return translated;
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
