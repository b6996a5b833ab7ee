import type { Message } from "@bufbuild/protobuf";

const weightKey: unique symbol = Symbol("weight");

interface Weighed {
  [weightKey]?: Weight;
}

/** What a large message weighs. */
export interface Weight {
  /** About as many bytes as its JSON has, or as it has in the store. */
  readonly bytes: number;
  /** What is held in memory for it: messages with the same source share it, and it counts once. */
  readonly source: object;
}

/**
 * From this many bytes on a message is large: it is written piece by piece, each piece when its reader has taken
 * the one before, and counts among what waits for readers. Below it an answer is one write.
 */
export const LARGE_BYTES: number = 128 * 1024;

/** Notes on a message that it is large. The note is no part of the message. */
export function markWeight<M extends Message>(message: M, weight: Weight): M {
  (message as Weighed)[weightKey] = weight;
  return message;
}

/** The weight of a large message, undefined for all others. */
export function weightOf(message: Message): Weight | undefined {
  return (message as Weighed)[weightKey];
}
