import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Versions } from "./versions.js";

/** How a version has push notifications: the task as of each event. */
export interface PushDialect {
  readonly mediaType: string;
  /** The body. */
  readonly write: (task: Task) => string;
  /** An authentication scheme that asks for signed posts, in lower case: these have the signature as their bearer token. */
  readonly signedScheme?: string;
}

/**
 * Finds how versions beside the service's own have push notifications, those that are switched off too: what was asked for before
 * goes out as it was asked for. Undefined for an unknown version; a promise where it is loaded first.
 */
export function pushForms(
  versions: Versions,
): (name: string) => PushDialect | undefined | Promise<PushDialect | undefined> {
  const loaded = new Map<string, PushDialect>();
  return (name) => {
    const known = loaded.get(name);
    if (known !== undefined) return known;
    const version = [...versions.others, ...versions.off].find((each) => each.name === name);
    return version?.push?.().then((dialect) => {
      loaded.set(name, dialect);
      return dialect;
    });
  };
}
