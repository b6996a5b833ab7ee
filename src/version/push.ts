import type { Task, TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Versions } from "./versions.js";

/**
 * What the notifications of another version of the protocol look like: its task as of the event, where the service's own version
 * sends the event.
 */
export interface PushDialect {
  readonly mediaType: string;
  /** The body. */
  readonly write: (task: Task) => string;
  /** Says whether a configuration asks for signed posts: these have the signature as their bearer token, in place of credentials. */
  readonly isSigned?: (config: TaskPushNotificationConfig) => boolean;
}

/** Finds the dialect of a version, by its name; a promise where that is loaded first, undefined for an unknown one. */
export type PushDialectOf = (version: string) => PushDialect | undefined | Promise<PushDialect | undefined>;

/**
 * Finds how versions beside the service's own have push notifications, those that are switched off too: what was asked for before
 * goes out as it was asked for.
 */
export function pushDialects(versions: Versions): PushDialectOf {
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
