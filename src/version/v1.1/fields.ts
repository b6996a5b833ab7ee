/** What a field says. */
export type Meaning =
  /** The generation of the task, or the one that an event brings its reader to. */
  | "generation"
  /** The generation that the caller knows: the answer waits for a later one. */
  | "known"
  /** The generation at which the caller expects the task: at any other the message is refused. */
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
 * What 1.1 adds to the contract of 1.0: the one table that codecs, routes, queries and behaviour are made of. All of them are `int64`, which is
 * a string in JSON. The numbers are those of the draft.
 */
export const newFields: readonly NewField[] = [
  { message: "Task", name: "generation", number: 7, says: "generation" },
  { message: "TaskStatusUpdateEvent", name: "generation", number: 5, says: "generation" },
  { message: "TaskArtifactUpdateEvent", name: "generation", number: 7, says: "generation" },
  { message: "GetTaskRequest", name: "current_generation", number: 4, isOptional: true, says: "known" },
  { message: "SendMessageConfiguration", name: "if_generation_match", number: 5, isOptional: true, says: "expected" },
];
