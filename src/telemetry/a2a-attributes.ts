import type { DescMethod, Message } from "@bufbuild/protobuf";
import { type AgentCard, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AError } from "../core/error.js";
import type { Attributes } from "./api.js";
import { a2a, jsonRpc, parley, rpc, rpcSystems } from "./names.js";
import { isFault, successCode, wireCode } from "./status-codes.js";
import type { TracedSpan } from "./tracer.js";

/** Maximum number of characters of a value that the other side has chosen. */
const MAX_TEXT = 256;

/** Maximum number of task ids that a message refers to. */
const MAX_REFERENCES = 32;

/** The fields of requests, answers and events that name a task, a context or a message. Never their content. */
interface NamingMessage extends Partial<Message> {
  readonly id?: unknown;
  readonly taskId?: unknown;
  readonly contextId?: unknown;
  readonly messageId?: unknown;
  readonly tenant?: unknown;
  readonly referenceTaskIds?: readonly string[];
  readonly message?: NamingMessage;
  readonly status?: { readonly state?: TaskState };
  readonly payload?: { readonly value?: NamingMessage };
}

/** Attributes of calls at their start, by method. */
const known = new WeakMap<DescMethod, Attributes>();

/**
 * Returns the attribute by which a sampler may decide, the same object for all calls of a method. The SDK copies what it is
 * given for each call, sampled or not, with a `WeakSet` for each attribute; `noteMethod` therefore sets the others.
 */
export function startAttributes(method: DescMethod): Attributes {
  const attributes = known.get(method);
  if (attributes !== undefined) return attributes;
  const made: Attributes = { [rpc.method]: `${method.parent.typeName}/${method.name}` };
  known.set(method, made);
  return made;
}

/**
 * Notes the method and the system of a call.
 *
 * @param binding in lower case: `grpc`, `connect`, `grpc-web`, `jsonrpc`, `rest`
 */
export function noteMethod(span: TracedSpan, method: DescMethod, binding: string): void {
  span.set(a2a.method, method.name);
  span.set(rpc.system, rpcSystems[binding]);
  if (binding === "jsonrpc") span.set(jsonRpc.version, "2.0");
}

/** Notes the ids of a request, or of a turn's message and tenant. */
export function noteRequest(span: TracedSpan, request: NamingMessage): void {
  const { message } = request;
  span.set(a2a.tenant, cutText(request.tenant));
  span.set(a2a.taskId, cutText(message?.taskId ?? request.taskId ?? request.id));
  span.set(a2a.contextId, cutText(message?.contextId ?? request.contextId));
  if (message === undefined) return;
  span.set(a2a.messageId, cutText(message.messageId));
  const { referenceTaskIds = [] } = message;
  if (referenceTaskIds.length > 0) {
    span.set(
      a2a.referenceTaskIds,
      referenceTaskIds.slice(0, MAX_REFERENCES).map((id) => cutText(id) ?? ""),
    );
  }
}

/** Notes the ids and the state of an answer, or of an event of a stream. */
export function noteAnswer(span: TracedSpan, answer: NamingMessage): void {
  const value = answer.payload?.value ?? answer;
  // A direct reply names no task; lists and configurations do not either.
  if (value.messageId === undefined && (value.status === undefined || value.contextId === undefined)) {
    span.set(a2a.taskId, cutText(value.taskId));
    return;
  }
  span.set(a2a.taskId, cutText(value.taskId ?? value.id));
  span.set(a2a.contextId, cutText(value.contextId));
  const state = value.status?.state;
  if (state !== undefined) span.set(a2a.taskState, protoStateName(state));
}

/** Name of a state, such as `TASK_STATE_WORKING`. */
export function protoStateName(state: TaskState): string {
  return `TASK_STATE_${TaskState[state] ?? state}`;
}

/** Attributes of an agent, from its card. */
export function agentAttributes(card: Partial<Pick<AgentCard, "name" | "version" | "description">>): Attributes {
  const { name = "", version = "", description = "" } = card;
  return { [a2a.agentName]: name, [a2a.agentVersion]: version, [a2a.agentDescription]: description };
}

/** Notes the error of a call. A client's span fails with each error, a server's with those of the server alone. */
export function noteError(span: TracedSpan, error: A2AError, binding: string, side: "client" | "server"): void {
  const code = wireCode(error.row, binding);
  span.set(rpc.statusCode, code);
  span.set(parley.errorReason, error.reason);
  if (side === "client" || isFault(error.code)) span.fail(code);
}

/** Notes that a call had an answer, in systems that give success a code. */
export function noteSuccess(span: TracedSpan, binding: string): void {
  span.set(rpc.statusCode, successCode(binding));
}

/** Cuts a value. Undefined for one that is not a text. */
function cutText(value: unknown): string | undefined {
  return typeof value === "string" ? value.slice(0, MAX_TEXT) : undefined;
}
