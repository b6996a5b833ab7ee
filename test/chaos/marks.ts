import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { FinalTask } from "./records.js";

export const TERMINAL: RegExp = /_(COMPLETED|FAILED|CANCELED|REJECTED)$/;

/** The metadata key for the origin of a delegated event (docs/extensions/delegation.md). */
const ORIGIN = "urn:parley:ext:delegation:v1";

/** The agent's text in an event: message, attempt, process, position and result of a step. */
export interface Mark {
  readonly message: string;
  readonly attempt: number;
  readonly holder: string;
  readonly what: string;
  readonly value: string;
}

/** The marks of a task's own agent. */
export function marksOf({ events }: FinalTask): Mark[] {
  return events.flatMap(([, event]) => (isRelayed(event) ? [] : markIn(event)));
}

/** The marks of the sub-task that a task relays. */
export function relayedIn({ events }: FinalTask): Mark[] {
  return events.flatMap(([, event]) => (isRelayed(event) ? markIn(event) : []));
}

/** The sub-tasks that the events of a task name as their origin. */
export function originsIn({ events }: FinalTask): string[] {
  return events.flatMap(([, event]) => {
    const taskId = textsIn(event)?.metadata?.[ORIGIN]?.taskId;
    return taskId === undefined ? [] : [taskId];
  });
}

function markIn(event: JsonObject): Mark[] {
  const [message = "", attempt = "", holder = "", what = "", value = ""] = textIn(event).split(" ");
  // A failed sub-task has a sentence instead.
  return what === "" || !/^\d+$/.test(attempt) ? [] : [{ message, attempt: Number(attempt), holder, what, value }];
}

/** True for an event of a sub-task. The id of its artifact has a prefix before the id of the message. */
function isRelayed(event: JsonObject): boolean {
  const texts = textsIn(event);
  if (texts?.artifactId !== undefined) return texts.artifactId !== textIn(event).split(" ", 1)[0];
  return texts?.metadata?.[ORIGIN] !== undefined;
}

function textIn(event: JsonObject): string {
  return textsIn(event)?.parts?.[0]?.text ?? "";
}

function textsIn(event: JsonObject): Texts | undefined {
  const { statusUpdate, artifactUpdate } = event as {
    statusUpdate?: { status?: { message?: Texts } };
    artifactUpdate?: { artifact?: Texts };
  };
  return statusUpdate?.status?.message ?? artifactUpdate?.artifact;
}

interface Texts {
  readonly artifactId?: string;
  readonly parts?: readonly { readonly text?: string }[];
  readonly metadata?: Readonly<Record<string, { readonly taskId?: string }>>;
}

export function stateIn(event: JsonObject): string {
  const { statusUpdate } = event as { statusUpdate?: { status?: { state?: string } } };
  return statusUpdate?.status?.state ?? "";
}

/** JSON that is equal for equal values, independent of the order of members. */
export function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_, inner: JsonValue) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
