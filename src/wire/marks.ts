import type { Message } from "@bufbuild/protobuf";

const marksKey: unique symbol = Symbol("marks");

interface Marked {
  [marksKey]?: Marks;
}

/** Facts about a message that travel with it inside this process. They are not part of the message, and not written. */
export interface Marks {
  /** The generation of its task that a stream's message brings the reader to: a cursor, such as the `id:` line of SSE. */
  readonly generation?: number | undefined;
  /** The weight of a large message. */
  readonly weight?: Weight | undefined;
  /** The version of the protocol in which a task was created, where it is not the service's own. */
  readonly version?: string | undefined;
  /** Whether a status event is the last one of its stream, whatever its state. */
  readonly isLast?: boolean | undefined;
  /** The position of an artifact among those of its task, counted from 0 in the order of their first appearance. */
  readonly index?: number | undefined;
  /** The dialect of a request and its answers, where a version has several over one binding. */
  readonly dialect?: string | undefined;
  /** Writes an answer that has another form than the other answers of its method. */
  readonly writer?: AnswerWriter | undefined;
}

/** The size of a large message. */
export interface Weight {
  /** About as many bytes as its JSON has, or as it has in the store. */
  readonly bytes: number;
  /** The object held in memory for it. Messages with the same source share it, and it counts once. */
  readonly source: object;
}

/** Writes answers as JSON, whole and in pieces. */
export interface AnswerWriter {
  readonly write: (answer: Message) => string;
  readonly pieces: (answer: Message) => Iterable<Uint8Array | string>;
}

/**
 * From this many bytes on a message is large: it is written piece by piece, each piece when its reader has taken
 * the one before, and counts among what waits for readers. Below it an answer is one write.
 */
export const LARGE_BYTES: number = 128 * 1024;

/** Adds marks to a message. A copy made by spreading (`sharedCopy`) has the marks of its original, and later ones of its own. */
export function mark<M extends Message>(message: M, marks: Marks): M {
  const marked = message as Marked;
  const before = marked[marksKey];
  marked[marksKey] = before === undefined ? marks : { ...before, ...marks };
  return message;
}

/** Carries all marks of a message over to another one that is made of it. */
export function carry<M extends Message>(original: Message, made: M): M {
  const marks = (original as Marked)[marksKey];
  return marks === undefined ? made : mark(made, marks);
}

/** The marks of a message, undefined for a message without any. */
export function marksOf(message: object): Marks | undefined {
  return (message as Marked)[marksKey];
}

/** Returns the generation in the metadata of a task or event, or undefined. */
export function generationOf(message: Message): number | undefined {
  return (message as Marked)[marksKey]?.generation;
}

/** The weight of a large message, undefined for all others. */
export function weightOf(message: Message): Weight | undefined {
  return (message as Marked)[marksKey]?.weight;
}
