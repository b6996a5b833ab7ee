import { create } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import {
  A2AService,
  type Artifact,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Reason } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import { begunStream, prepend } from "../../core/map-stream.js";
import { isTerminal } from "../../task/state.js";
import { IDEMPOTENCY_KEY } from "../../wire/service-params.js";
import { isSend, requestMessages } from "../calls/failover.js";
import { clientError } from "../errors/errors.js";
import { isSameMessage } from "../follow/update.js";
import type { GivenHeaders } from "./request-headers.js";

const { getTask } = A2AService.method;

/** Errors of servers that cannot read tasks. The message is then sent without what the task would tell. */
const unreadable: ReadonlySet<Reason> = new Set<Reason>(["METHOD_NOT_FOUND", "UNSUPPORTED_OPERATION"]);

/** The session of a message, or "", and the task that the message continues. */
interface Known {
  readonly contextId: string;
  readonly task?: Task;
}

const nothing: Known = { contextId: "" };

/**
 * Returns a transport for a version whose streams do not begin with the task, and whose servers may put a message
 * without a session into a new one. It reads the task of a message before it sends the message: the message then names
 * the task's session, and a stream begins with the task (specification 3.1.2) and does not repeat its artifacts.
 */
export function withTaskFirst(transport: Transport): Transport {
  /** Reads the task that a message names. A client may also name a new task, which then gets a new session. */
  const read = async (
    { message, configuration }: SendMessageRequest,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    given: GivenHeaders,
  ): Promise<Known> => {
    const header = new Headers(given);
    // The idempotency key belongs to the send, not to this read.
    header.delete(IDEMPOTENCY_KEY);
    const { historyLength } = configuration ?? {};
    const asked = { id: message?.taskId ?? "", ...(historyLength !== undefined && { historyLength }) };
    try {
      const { message: task } = await transport.unary(getTask, signal, timeoutMs, header, asked);
      return { contextId: task.contextId, task };
    } catch (error) {
      const { reason } = clientError(error);
      if (reason === "TASK_NOT_FOUND") return { contextId: newId() };
      if (unreadable.has(reason)) return nothing;
      throw error;
    }
  };
  return {
    unary: async (method, signal, timeoutMs, header, input, contextValues) => {
      const request = isSend(method) ? create(SendMessageRequestSchema, input as SendMessageRequest) : undefined;
      const { taskId = "", contextId = "" } = request?.message ?? {};
      if (request === undefined || taskId === "" || contextId !== "")
        return transport.unary(method, signal, timeoutMs, header, input, contextValues);
      const known = await read(request, signal, timeoutMs, header);
      const sent = inContext(request, known) as unknown as typeof input;
      return transport.unary(method, signal, timeoutMs, header, sent, contextValues);
    },
    stream: async (method, signal, timeoutMs, header, input, contextValues) => {
      if (!isSend(method)) return transport.stream(method, signal, timeoutMs, header, input, contextValues);
      const messages: SendMessageRequest[] = [];
      for await (const init of input) messages.push(create(SendMessageRequestSchema, init as SendMessageRequest));
      const [request] = messages;
      const known = request?.message?.taskId ? await read(request, signal, timeoutMs, header) : nothing;
      const sent = messages.map((each) => inContext(each, known));
      const asked = requestMessages(sent) as unknown as typeof input;
      const response = await transport.stream(method, signal, timeoutMs, header, asked, contextValues);
      const { task } = known;
      // A message to a finished task begins another one under its id.
      if (task === undefined || isTerminal(task.status?.state ?? 0)) return response;
      const message = after(task, response.message as AsyncIterable<unknown> as AsyncIterable<StreamResponse>);
      return { ...response, message: message as AsyncIterable<unknown> as typeof response.message };
    },
  };
}

/** Returns the request with a context for its message, unless it has one. */
function inContext(request: SendMessageRequest, { contextId }: Known): SendMessageRequest {
  const { message } = request;
  if (message === undefined || message.contextId !== "") return request;
  return { ...request, message: { ...message, contextId } };
}

/**
 * Returns a stream of the task as it was before a message and of the events that change it. The task follows the
 * server's first event, which shows that the message was accepted.
 */
function after(task: Task, events: AsyncIterable<StreamResponse>): AsyncIterable<StreamResponse> {
  return begunStream(events, async (source) => {
    const first = await source.next();
    const all = prepend(first, source);
    if (first.done === true) return all;
    const value = create(StreamResponseSchema, { payload: { case: "task", value: task } });
    return prepend({ done: false, value }, changes(task, all));
  });
}

function changes(task: Task, all: AsyncIterator<StreamResponse>): AsyncIterator<StreamResponse> {
  const known = new Map(task.artifacts.map((artifact) => [artifact.artifactId, artifact]));
  const next = async (): Promise<IteratorResult<StreamResponse>> => {
    let result = await all.next();
    while (result.done !== true && repeats(result.value, known)) result = await all.next();
    return result.done === true ? result : { done: false, value: changeOf(result.value) };
  };
  return { next, return: async () => (await all.return?.()) ?? { done: true, value: undefined } };
}

/** True for an artifact's first event if it repeats the artifact's earlier content. */
function repeats({ payload }: StreamResponse, known: Map<string, Artifact>): boolean {
  if (payload.case !== "artifactUpdate" || payload.value.artifact === undefined) return false;
  const { append, artifact } = payload.value;
  const before = known.get(artifact.artifactId);
  known.delete(artifact.artifactId);
  return before !== undefined && !append && isSameMessage(before, artifact);
}

/** Converts a task that is nothing but a status to its event: the first status of an answer is read as a task. */
function changeOf(event: StreamResponse): StreamResponse {
  if (event.payload.case !== "task") return event;
  const { id: taskId, contextId, status, metadata, artifacts, history } = event.payload.value;
  if (artifacts.length > 0 || history.length > 0) return event;
  const value = { taskId, contextId, ...(status && { status }), ...(metadata && { metadata }) };
  return create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
}
