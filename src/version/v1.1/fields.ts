/** Meaning of a field. */
export type Meaning =
  /** The generation of the task, or the one that an event brings its reader to. */
  | "generation"
  /** The generation that the caller knows; the answer waits for a later one. */
  | "known"
  /** The generation that the caller expects; the message is rejected at any other. */
  | "expected";

/** A field that 1.1 adds to a message of 1.0. */
export interface NewField {
  /** Name of the message. */
  readonly message: string;
  readonly name: string;
  readonly number: number;
  readonly isOptional?: true;
  readonly says: Meaning;
}

/**
 * Additions of 1.1 to the contract of 1.0: the one table from which codecs, routes, queries and behaviour derive. All
 * are `int64`, a string in JSON. The numbers are those of the draft.
 */
export const newFields: readonly NewField[] = [
  { message: "Task", name: "generation", number: 7, says: "generation" },
  { message: "TaskStatusUpdateEvent", name: "generation", number: 5, says: "generation" },
  { message: "TaskArtifactUpdateEvent", name: "generation", number: 7, says: "generation" },
  { message: "GetTaskRequest", name: "current_generation", number: 4, isOptional: true, says: "known" },
  { message: "SendMessageConfiguration", name: "if_generation_match", number: 5, isOptional: true, says: "expected" },
];
