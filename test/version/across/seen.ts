import type { JsonValue } from "@bufbuild/protobuf";
import type { Outcome } from "../cases/exchange.js";

/** An answer or event of any version, in one form. */
export interface Seen {
  readonly kind: "artifact" | "error" | "message" | "other" | "status" | "task";
  readonly taskId?: string | undefined;
  readonly contextId?: string | undefined;
  /** The word of 0.3. */
  readonly state?: string | undefined;
  /** The texts of the artifacts, or of the artifact, each joined. */
  readonly texts?: readonly string[];
  readonly final?: boolean;
  /** The code of JSON-RPC, where the binding carries it; else the status. */
  readonly error?: JsonValue;
}

type Json = { readonly [name: string]: JsonValue };

const isObject = (value: JsonValue | undefined): value is { [name: string]: JsonValue } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const text = (value: JsonValue | undefined): string | undefined => (typeof value === "string" ? value : undefined);

/** The answer of a call. */
export function seen({ status, body }: Outcome): Seen {
  if (typeof status === "string" && status !== "OK") return { kind: "error", error: status };
  if (isObject(body)) {
    const { error, code } = body;
    if (isObject(error)) return { kind: "error", error: jsonRpcCode(error) ?? status };
    if (typeof status === "number" && status >= 400) return { kind: "error", error: code ?? status };
    return seenEvent(body);
  }
  return typeof status === "number" && status >= 400 ? { kind: "error", error: status } : { kind: "other" };
}

/** The events of a stream; an answer that is none counts as one. */
export function seenEvents(outcome: Outcome): Seen[] {
  if (outcome.events === undefined) return [seen(outcome)];
  if (typeof outcome.status === "string" && !["OK", "CANCELLED"].includes(outcome.status)) {
    return [{ kind: "error", error: outcome.status }];
  }
  return outcome.events.map((event) => seenEvent(event as Json));
}

function seenEvent(event: Json): Seen {
  if (isObject(event.error)) return { kind: "error", error: jsonRpcCode(event.error) ?? "error" };
  const result = event.jsonrpc === "2.0" ? event.result : event;
  if (!isObject(result)) return { kind: "other" };
  const { task, message, msg, statusUpdate, artifactUpdate, kind, artifact, status } = result;
  if (isObject(task)) return taskSeen(task);
  if (isObject(statusUpdate)) return statusSeen(statusUpdate);
  if (isObject(artifactUpdate)) return artifactSeen(artifactUpdate);
  if (isObject(artifact)) return artifactSeen(result);
  if (kind === "message" || isObject(msg) || (isObject(message) && status === undefined)) return { kind: "message" };
  // Of 0.1 only events have `final`; since then it is theirs as well.
  if (isObject(status)) return "final" in result ? statusSeen(result) : taskSeen(result);
  return { kind: "other" };
}

/** The code of JSON-RPC in its errors; the status in those of HTTP+JSON, which has the same name there. */
function jsonRpcCode({ code, details }: { [name: string]: JsonValue }): JsonValue | undefined {
  return details === undefined ? code : undefined;
}

function taskSeen(task: { [name: string]: JsonValue }): Seen {
  const artifacts = Array.isArray(task.artifacts) ? task.artifacts : [];
  return {
    kind: "task",
    taskId: text(task.id),
    contextId: text(task.contextId) ?? text(task.sessionId),
    state: stateOf(task.status),
    texts: artifacts.map((each) => textsOf(each)),
  };
}

function statusSeen(update: { [name: string]: JsonValue }): Seen {
  return {
    kind: "status",
    taskId: text(update.taskId) ?? text(update.id),
    contextId: text(update.contextId),
    state: stateOf(update.status),
    final: update.final === true,
  };
}

function artifactSeen(update: { [name: string]: JsonValue }): Seen {
  return { kind: "artifact", taskId: text(update.taskId) ?? text(update.id), texts: [textsOf(update.artifact)] };
}

function textsOf(artifact: JsonValue | undefined): string {
  const parts = isObject(artifact) && Array.isArray(artifact.parts) ? artifact.parts : [];
  return parts.map((part) => (isObject(part) ? (text(part.text) ?? "") : "")).join("");
}

function stateOf(status: JsonValue | undefined): string | undefined {
  const state = isObject(status) ? text(status.state) : undefined;
  const word = state
    ?.replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
  return word === "cancelled" ? "canceled" : word;
}
