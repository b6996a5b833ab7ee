import type { Call } from "../core/call.js";

/** A number in a field of a request. */
export interface NumberInField {
  /** Path of the field. */
  readonly field: string;
  readonly value: bigint;
}

/**
 * Facts about a call that messages of the service's own version cannot express. The translator of another version sets
 * them as `Call.versionFacts`, and the service reads them by `versionFactsOf`. They are frozen constants, so that a
 * call creates no object. Only a request that names a generation has facts of its own.
 */
export interface VersionFacts {
  /**
   * True if the ids of tasks in the request are names that the client chose (`TaskNames`): a message creates its task
   * if the caller has none of that name. Clients of the service's own version never choose ids (specification 3.4.2).
   */
  readonly namesTasks: boolean;
  /**
   * True if a push configuration without an id, sent with a message, gets the id of its task. In such a version a task
   * has one configuration without an id, so that setting it later replaces this one.
   */
  readonly namesConfigByTask: boolean;
  /** True if messages of the version have fields for generations. Answers then carry theirs as marks. */
  readonly hasGenerations: boolean;
  /** The generation that the caller knows; a read waits for a later one. */
  readonly known?: NumberInField | undefined;
  /** The generation that a message expects its task to have. */
  readonly expected?: NumberInField | undefined;
}

/** The facts of calls of the service's own version. */
export const nativeFacts: VersionFacts = Object.freeze({
  namesTasks: false,
  namesConfigByTask: false,
  hasGenerations: false,
});

/** Returns the facts that the translator of the call's version has set. */
export function versionFactsOf({ versionFacts }: Call): VersionFacts {
  // Core does not know their type. Translators alone set them, by `setVersionFacts`.
  return (versionFacts as VersionFacts | undefined) ?? nativeFacts;
}

/** Sets the facts of a call, for the service. */
export function setVersionFacts(call: Call, facts: VersionFacts): void {
  call.versionFacts = facts;
}
