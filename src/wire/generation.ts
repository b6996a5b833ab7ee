import type { Message } from "@bufbuild/protobuf";

const generationKey: unique symbol = Symbol("generation");

interface Marked {
  [generationKey]?: number;
}

/**
 * Notes on a stream's message which generation of its task it brings the reader to. The note is no part of the
 * message: it serves bindings that have a place of their own for a cursor, such as the `id:` line of SSE.
 */
export function markGeneration<M extends Message>(message: M, generation: number): M {
  (message as Marked)[generationKey] = generation;
  return message;
}

/** Returns the generation in the metadata of a task or event, or undefined. */
export function generationOf(message: Message): number | undefined {
  return (message as Marked)[generationKey];
}
