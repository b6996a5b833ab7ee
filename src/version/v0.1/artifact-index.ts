import type { Artifact } from "../../../gen/lf/a2a/v1/a2a_pb.js";

const indexKey: unique symbol = Symbol("index");

interface Marked {
  [indexKey]?: number;
}

/**
 * Notes on an artifact which one of its task's it is, counted from 0 in the order in which they first appeared: what 0.1 has in the
 * place of ids. The log keeps that order, and so does every task that is folded of it: an artifact has the same index for
 * ever, in every process. So others may see the note.
 */
export function markIndex(artifact: Artifact, index: number): Artifact {
  (artifact as Marked)[indexKey] = index;
  return artifact;
}

/** The index that was noted; 0, which is the default of 0.1, where none was. */
export function indexOf(artifact: object): number {
  return (artifact as Marked)[indexKey] ?? 0;
}
