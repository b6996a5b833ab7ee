import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";

/**
 * What the notifications of another version of the protocol look like: its task as of the event, where the service's own version
 * sends the event.
 */
export interface PushForm {
  readonly mediaType: string;
  /** The body. */
  readonly write: (task: Task) => string;
  /** An authentication scheme that asks for signed posts, in lower case: these have the signature as their bearer token. */
  readonly signedScheme?: string;
}

/** Finds the form of a version, by its name; a promise where that is loaded first, undefined for an unknown one. */
export type FormOf = (version: string) => PushForm | undefined | Promise<PushForm | undefined>;
