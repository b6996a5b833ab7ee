import { createHash } from "node:crypto";
import { create, type DescMethodUnary, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  type A2AService,
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentRegistration } from "../card/agents.js";
import { withInterfaces } from "../card/interfaces.js";
import type { Call } from "../core/call.js";
import { A2AError, invalid } from "../core/error.js";
import type { Engine, Scope, SendCommand, SendResult } from "../engine/engine.js";
import type { TaskHandle, TaskView } from "../engine/task-handle.js";
import type { View } from "../task/fold.js";
import { isTerminal } from "../task/state.js";
import { markGeneration } from "../wire/generation.js";
import { LARGE_BYTES, markWeight, weightOf } from "../wire/weight.js";
import { admission } from "./interceptors/admission.js";
import { authenticate } from "./interceptors/authenticate.js";
import { extensions } from "./interceptors/extensions.js";
import { tenant } from "./interceptors/tenant.js";
import { trace } from "./interceptors/trace.js";
import { validate } from "./interceptors/validate.js";
import { version } from "./interceptors/version.js";
import { type Answer, chain, type Invoke } from "./invoke.js";
import { checkMediaTypes } from "./media-types.js";
import type { ServiceOptions } from "./options.js";
import { Outgoing } from "./outgoing.js";
import { type Filters, pageToken, placeOf } from "./page-token.js";
import { raceCancellation } from "./race-cancellation.js";
import {
  eventWithGeneration,
  expectedGeneration,
  longPoll,
  type ResumePoint,
  resumeAfter,
  withGeneration,
} from "./resume.js";
import { pageSizes } from "./rules.js";

/** What every method is told besides its request. */
export interface Context {
  readonly call: Call;
  readonly served: AgentRegistration;
}

type MethodsOf = (typeof A2AService)["method"];

/** One function per rpc of the contract, by its local name; streaming ones give an iterable. */
export type ServiceMethods = {
  readonly [K in keyof MethodsOf]: (
    request: MessageShape<MethodsOf[K]["input"]>,
    context: Context,
  ) => MethodsOf[K] extends DescMethodUnary
    ? Promise<MessageShape<MethodsOf[K]["output"]>>
    : AsyncIterable<MessageShape<MethodsOf[K]["output"]>>;
};

/** The service behind every binding, with the interceptors around it. */
export function createInvoke(options: ServiceOptions): Invoke {
  const { agents, authenticator, draining, limits, strictVersion = false } = options;
  const methods = createMethods(options);
  const interceptors = [
    trace,
    admission(limits, draining),
    ...(authenticator === undefined ? [] : [authenticate(authenticator)]),
    ...(options.interceptors ?? []),
    version(strictVersion),
    // Before extensions and validation, because both are the agent's: its card says what it declares.
    tenant(agents),
    extensions(limits),
    validate(limits),
  ];
  // Passes on the promise of a method as it is, like the interceptors: the guard catches what is thrown at once.
  return chain(interceptors, ({ method, request, call, served }): Promise<Answer> => {
    const run = methods[method.localName as keyof ServiceMethods] as
      | ((request: Message, context: Context) => Answer | Promise<Answer>)
      | undefined;
    if (run === undefined || served === undefined) throw new A2AError("METHOD_NOT_FOUND", "Method not found.");
    if (method.methodKind !== "unary" && served.card.capabilities?.streaming !== true) {
      throw new A2AError("UNSUPPORTED_OPERATION", "The agent does not support streaming.");
    }
    const answer = run(request, { call, served });
    return answer instanceof Promise ? answer : Promise.resolve(answer);
  });
}

/** The eleven operations of section 3.1. */
export function createMethods(options: ServiceOptions): ServiceMethods {
  const { engine, limits } = options;
  const outgoing = new Outgoing(limits);
  return {
    async sendMessage(request, context) {
      const sent = await send(options, orderOf(options, request, context), context);
      const response = create(SendMessageResponseSchema);
      if (sent.kind === "message") {
        response.payload = { case: "message", value: sent.message };
        return response;
      }
      try {
        if (request.configuration?.returnImmediately !== true) {
          const settled = await sent.task.whenIdle(context.call.cancellation, limits.maxBlockingMs);
          if (!settled) throw gaveUp(context.call);
        }
        const { task, generation } = sent.task.now(sendView(request));
        response.payload = { case: "task", value: withGeneration(context.call, task, generation) };
        const weight = weightOf(task);
        if (weight !== undefined) context.call.written = await outgoing.acquire(context.call, weight);
        return weight === undefined ? response : markWeight(response, weight);
      } finally {
        sent.task.release();
      }
    },

    async *sendStreamingMessage(request, context) {
      const { call } = context;
      const sent = await send(options, { ...orderOf(options, request, context), capture: sendView(request) }, context);
      if (sent.kind === "message") {
        const response = create(StreamResponseSchema);
        response.payload = { case: "message", value: sent.message };
        yield response;
        return;
      }
      try {
        const begin = sent.task.accepted ?? sent.task.now(sendView(request));
        const first = taskResponse(call, begin.task, begin.generation);
        if (weightOf(first) === undefined) yield first;
        else yield* outgoing.inStream(call, first);
        for await (const event of sent.task.events(begin, call.cancellation)) {
          const shown = eventWithGeneration(call, event);
          if (weightOf(shown) === undefined) yield shown;
          else yield* outgoing.inStream(call, shown);
        }
      } finally {
        sent.task.release();
      }
    },

    async getTask(request, context) {
      const { call } = context;
      const view = { historyLength: request.historyLength };
      const poll = longPoll(call, limits);
      if (poll !== undefined) {
        const held = await engine.open(scopeOf(call), request.id);
        try {
          await held.whenPast(poll.after, call.cancellation, poll.waitMs);
        } finally {
          held.release();
        }
      }
      const answer = await taskOf(engine, call, request.id, view);
      if (weightOf(answer) === undefined) return answer;
      return outgoing.whole(call, answer, () => taskOf(engine, call, request.id, view));
    },

    async listTasks(request, { call }) {
      const filters = filtersOf(request, scopeOf(call));
      const limit = request.pageSize ?? pageSizes.default;
      const after = request.pageToken === "" ? {} : { after: placeOf(request.pageToken, filters) };
      const view = { historyLength: request.historyLength, artifacts: request.includeArtifacts === true };
      const read = async (): Promise<ListTasksResponse> => {
        const page = await engine.list({ ...filters, ...after, limit }, view);
        const response = create(ListTasksResponseSchema);
        response.tasks = page.moments.map(({ task, generation }) => withGeneration(call, task, generation));
        response.nextPageToken = page.next === undefined ? "" : pageToken(page.next, filters);
        response.pageSize = limit;
        response.totalSize = page.total;
        return page.bytes < LARGE_BYTES ? response : markWeight(response, { bytes: page.bytes, source: response });
      };
      const response = await read();
      return weightOf(response) === undefined ? response : outgoing.whole(call, response, read);
    },

    async cancelTask(request, { call }) {
      const { task, generation } = await engine.cancel(scopeOf(call), request.id);
      const weight = weightOf(task);
      if (weight !== undefined) call.written = await outgoing.acquire(call, weight);
      return withGeneration(call, task, generation);
    },

    async *subscribeToTask(request, { call }) {
      const resume = resumeAfter(call);
      const { held, now, release } = await outgoing.opened(call, () =>
        beginSubscription(engine, call, request.id, resume),
      );
      try {
        // Whoever resumes must find the same place again if this very frame is the last one to arrive.
        const place = resume === undefined ? now : { position: resume.after, generation: resume.after };
        yield taskResponse(call, now.task, place.generation);
        release?.();
        for await (const event of held.events(place, call.cancellation)) {
          const shown = eventWithGeneration(call, event);
          if (weightOf(shown) === undefined) yield shown;
          else yield* outgoing.inStream(call, shown);
        }
      } finally {
        release?.();
        held.release();
      }
    },

    createTaskPushNotificationConfig: noPush,
    getTaskPushNotificationConfig: noPush,
    listTaskPushNotificationConfigs: noPush,
    deleteTaskPushNotificationConfig: async (): Promise<MessageShape<typeof EmptySchema>> => noPush(),

    async getExtendedAgentCard(_request, { call, served }) {
      if (served.card.capabilities?.extendedAgentCard !== true) {
        throw new A2AError("UNSUPPORTED_OPERATION", "The agent has no extended card.");
      }
      if (served.extendedCard === undefined) {
        throw new A2AError("EXTENDED_AGENT_CARD_NOT_CONFIGURED", "The agent's extended card is not configured.");
      }
      if (!call.caller.authenticated) {
        const headers = { "www-authenticate": options.authenticator?.challenge ?? "Bearer" };
        throw new A2AError("UNAUTHENTICATED", "The extended card is for authenticated callers.", { headers });
      }
      const card = served.extendedCard(call.caller);
      if (card === undefined) throw new A2AError("PERMISSION_DENIED", "The extended card is not for this caller.");
      call.responseHeaders.set("cache-control", "private, no-cache");
      return withInterfaces(card, options.interfaces(served.tenant, call));
    },
  };
}

/** Delivery of push notifications is not wired: every agent's card says so, and so do the operations (3.3.4). */
async function noPush(): Promise<never> {
  throw pushNotSupported();
}

function pushNotSupported(): A2AError {
  return new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED", "The agent does not support push notifications.");
}

function scopeOf(call: Call): Scope {
  return { tenant: call.tenant, owner: call.caller.owner };
}

function sendView(request: SendMessageRequest): View {
  return { historyLength: request.configuration?.historyLength };
}

/** A task is there at once, unless its agent has to accept the message; another answer when the agent gives it. */
function send({ engine }: ServiceOptions, order: SendCommand, { call, served }: Context): Promise<SendResult> {
  const sending = engine.send(order);
  const { responds = "task", accept } = served.agent;
  return responds === "task" && accept === undefined ? sending : raceCancellation(call.cancellation, sending);
}

function orderOf(options: ServiceOptions, request: SendMessageRequest, { call, served }: Context): SendCommand {
  if (request.configuration?.taskPushNotificationConfig !== undefined) {
    // Section 3.3.2 describes the error for any use of push features; a send names none of its own.
    throw pushNotSupported();
  }
  if (request.message !== undefined) checkMediaTypes(served.card, request.message);
  return {
    served,
    request,
    caller: call.caller,
    tenant: call.tenant,
    extensions: call.extensions,
    traceParent: call.traceParent,
    client: call,
    idempotency: idempotencyOf(options, request, call),
    ifGeneration: expectedGeneration(call),
  };
}

function idempotencyOf(options: ServiceOptions, request: SendMessageRequest, call: Call): SendCommand["idempotency"] {
  const key = call.header("idempotency-key")?.trim();
  if (key !== undefined && (key === "" || key.length > options.limits.maxIdLength)) {
    const description = `must have 1 to ${options.limits.maxIdLength} characters`;
    throw invalid([{ field: "Idempotency-Key", description }]);
  }
  const messageId = options.idempotentMessageIds === true ? request.message?.messageId : undefined;
  if (key === undefined && messageId === undefined) return undefined;
  // How a client wants to be answered is not part of what it asks for: a retry may stream what the first try awaited.
  const { configuration: _, ...asked } = request;
  const fingerprint = createHash("sha256").update(toBinary(SendMessageRequestSchema, asked)).digest("base64url");
  return { key: key === undefined ? `message:${messageId}` : `key:${key}`, fingerprint };
}

async function taskOf(engine: Engine, call: Call, taskId: string, view: View): Promise<Task> {
  const { task, generation } = await engine.get(scopeOf(call), taskId, view);
  return withGeneration(call, task, generation);
}

/** Takes hold of a task that somebody may subscribe to, as it stands. */
async function beginSubscription(
  engine: Engine,
  call: Call,
  taskId: string,
  resume: ResumePoint | undefined,
): Promise<{ readonly held: TaskHandle; readonly now: TaskView }> {
  const held = await engine.open(scopeOf(call), taskId);
  try {
    const now = held.now(resume === undefined ? {} : { historyLength: 0, artifacts: false });
    const over = isTerminal(now.task.status?.state ?? TaskState.UNSPECIFIED);
    if (over && (resume === undefined || resume.after === now.generation)) throw overAlready(taskId);
    if (resume !== undefined) checkReach(resume, now.generation);
    return { held, now };
  } catch (error) {
    held.release();
    throw error;
  }
}

function filtersOf(request: ListTasksRequest, scope: Scope): Filters {
  const { contextId, status, statusTimestampAfter: from } = request;
  return {
    ...scope,
    ...(contextId === "" ? {} : { contextId }),
    ...(status === TaskState.UNSPECIFIED ? {} : { state: status }),
    // Status times are whole milliseconds; the filter keeps what is at or after the given instant.
    ...(from === undefined ? {} : { statusFrom: Number(from.seconds) * 1_000 + Math.ceil(from.nanos / 1_000_000) }),
  };
}

function taskResponse(call: Call, task: Task, generation: number): StreamResponse {
  const response = create(StreamResponseSchema);
  response.payload = { case: "task", value: withGeneration(call, task, generation) };
  const weight = weightOf(task);
  if (weight !== undefined) markWeight(response, weight);
  return markGeneration(response, generation);
}

function gaveUp(call: Call): A2AError {
  return call.cancellation.canceled
    ? new A2AError("CANCELLED", "The client went away before the task came to rest.")
    : new A2AError("DEADLINE_EXCEEDED", "The task did not come to rest in time; it goes on.");
}

function overAlready(taskId: string): A2AError {
  return new A2AError("UNSUPPORTED_OPERATION", "The task is over; there is nothing to subscribe to.", {
    metadata: { taskId },
  });
}

function checkReach({ after, field }: ResumePoint, generation: number): void {
  if (after < 1 || after > generation)
    throw invalid([{ field, description: `${after} is not from 1 to ${generation}` }]);
}
