import type { Message } from "@bufbuild/protobuf";
import { generationOf, markGeneration } from "../wire/generation.js";
import { markWeight, weightOf } from "../wire/weight.js";

/**
 * Notes on a translated message what was noted on the original: the generation, which is the `id:` of its event, and that
 * it is large. Without the second what is held for a large answer would be held for ever.
 */
export function carryMarks<M extends Message>(original: Message, translated: M): M {
  const [generation, weight] = [generationOf(original), weightOf(original)];
  if (generation !== undefined) markGeneration(translated, generation);
  if (weight !== undefined) markWeight(translated, weight);
  return translated;
}

/**
 * The events of a stream, each converted. Not an async generator: one that waits for its next event holds back `return()` until that
 * has come, and a client that leaves would be noticed late.
 */
export function mapEvents(
  events: AsyncIterable<Message>,
  convert: (event: Message) => Message,
): AsyncIterable<Message> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = events[Symbol.asyncIterator]();
      return {
        next: async () => {
          const { done, value } = await iterator.next();
          return done === true ? { done, value: undefined } : { value: convert(value) };
        },
        return: async () => {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
