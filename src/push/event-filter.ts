import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { countsAsGeneration } from "../task/entry.js";
import type { PushEventKind } from "./options.js";

const stateNames = {
  submitted: TaskState.SUBMITTED,
  working: TaskState.WORKING,
  "input-required": TaskState.INPUT_REQUIRED,
  "auth-required": TaskState.AUTH_REQUIRED,
  completed: TaskState.COMPLETED,
  failed: TaskState.FAILED,
  canceled: TaskState.CANCELED,
  rejected: TaskState.REJECTED,
} as const satisfies Partial<Record<PushEventKind, TaskState>>;

/** True if an entry is sent as a notification. */
export type EventFilter = (entry: LogEntry) => boolean;

/** Creates the filter for configurations that get the task with each event. Default: every status change. */
export function createTaskFilter(events: readonly PushEventKind[] | undefined): EventFilter {
  return events === undefined
    ? ({ event }) => event.case === "created" || event.case === "status"
    : createEventFilter(events);
}

/**
 * Creates the filter of entries to notify of from the option `events`. Default: every entry that a client can see. An
 * accepted message is not an event (specification 3.1.2).
 */
export function createEventFilter(events: readonly PushEventKind[] | undefined): EventFilter {
  if (events === undefined) return ({ event }) => event.case !== undefined && countsAsGeneration(event);
  const named = new Set(events);
  const states = new Set<TaskState>(
    Object.entries(stateNames).flatMap(([name, state]) => (named.has(name as PushEventKind) ? state : [])),
  );
  const [task, status, artifact, lastChunk] = (["task", "status", "artifact", "last-chunk"] as const).map((name) =>
    named.has(name),
  );
  return ({ event }) => {
    switch (event.case) {
      case "created":
        return task === true;
      case "status":
        return status === true || states.has(event.value.status?.state ?? TaskState.UNSPECIFIED);
      case "artifact":
        return artifact === true || (lastChunk === true && event.value.lastChunk);
      default:
        return false;
    }
  };
}
