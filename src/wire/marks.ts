import type { Message } from "@bufbuild/protobuf";

const marksKey: unique symbol = Symbol("marks");

interface WithMarks {
  [marksKey]?: Marks;
}

/** Facts that travel with a message inside this process. They are not part of the message and never written. */
export interface Marks {
  /** The generation of the task after a stream's message: a cursor, such as the `id:` line of SSE. */
  readonly generation?: number | undefined;
  /** The weight of a large message; undefined for a smaller one. */
  readonly weight?: Weight | undefined;
  /** The protocol version in which a task was created, if it is not the service's own. */
  readonly version?: string | undefined;
  /** True if a status event is the last event of its stream, whatever its state. */
  readonly isLast?: boolean | undefined;
  /** The index of an artifact among those of its task, from 0 in the order of their first appearance. */
  readonly index?: number | undefined;
  /** The dialect of a request and its answers, if a version has several over one binding. */
  readonly dialect?: string | undefined;
  /** Writes an answer whose form differs from that of the method's other answers. */
  readonly writer?: AnswerWriter | undefined;
}

/** The memory that a large message holds until its readers have taken it, for the quotas of unsent answers. */
export interface Weight {
  /** Approximate size of its JSON or stored form, in bytes. */
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
 * Size from which a message is large, in bytes. A large message is written piece by piece, each after the reader has
 * taken the previous one, and counts against the quota of unsent answers. A smaller answer is one write.
 */
export const LARGE_BYTES: number = 128 * 1024;

/**
 * Adds marks to a message. A copy made by spreading (`sharedCopy`) keeps the marks of its original; marks added later
 * belong to the copy alone.
 */
export function mark<M extends Message>(message: M, marks: Marks): M {
  const marked: Message & WithMarks = message;
  const before = marked[marksKey];
  marked[marksKey] = before === undefined ? marks : { ...before, ...marks };
  return message;
}

/** Copies all marks of a message to one derived from it. */
export function carry<M extends Message>(original: Message & WithMarks, made: M): M {
  const marks = original[marksKey];
  return marks === undefined ? made : mark(made, marks);
}

/** Returns the marks of a message, or undefined. */
export function marksOf(message: object & WithMarks): Marks | undefined {
  return message[marksKey];
}

/** Returns the generation in the metadata of a task or event, or undefined. */
export function generationOf(message: Message & WithMarks): number | undefined {
  return message[marksKey]?.generation;
}

/** Returns the weight of a large message, or undefined. */
export function weightOf(message: Message & WithMarks): Weight | undefined {
  return message[marksKey]?.weight;
}
