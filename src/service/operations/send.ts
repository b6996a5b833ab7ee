import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type SendMessageRequest,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  type TaskPushNotificationConfig,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { httpCredentials } from "../../auth/credentials.js";
import { type Call, CallerToken } from "../../core/call.js";
import { A2AError, invalid } from "../../core/error.js";
import { defined } from "../../core/members.js";
import type { SendCommand, SendResult } from "../../engine/engine.js";
import type { AcceptedConfig } from "../../push/configurations.js";
import type { View } from "../../task/fold.js";
import { versionFactsOf } from "../../version/facts.js";
import { mark, weightOf } from "../../wire/marks.js";
import { DELEGATION_DEPTH, delegationDepthOf, IDEMPOTENCY_KEY } from "../../wire/service-params.js";
import { DirectSend } from "../direct-call.js";
import { spanOf } from "../interceptors/server-span.js";
import { checkInputModes, checkOutputModes } from "../media-modes.js";
import type { ServiceOptions } from "../options.js";
import { eventWithGeneration, expectedGeneration, withGeneration } from "../resume.js";
import { requestBounds } from "../rules.js";
import { type Context, type OperationParts, type ServiceMethods, taskResponse } from "./operation.js";
import { configOfSend, recordConfig } from "./push.js";

/** Sends a message, with one answer or a stream (specification 3.1.1, 3.1.2). */
export function sendOperations({
  options,
  budget,
}: OperationParts): Pick<ServiceMethods, "sendMessage" | "sendStreamingMessage"> {
  const { limits } = options;
  return {
    async sendMessage(request, context) {
      const sent = await acceptMessage(options, request, context);
      const response = create(SendMessageResponseSchema);
      if (sent.kind === "message") {
        response.payload = { case: "message", value: sent.message };
        return response;
      }
      context.call.taskId = sent.task.shownId;
      try {
        const waits = request.configuration?.returnImmediately !== true;
        if (waits && !(await sent.task.whenIdle(context.call.cancellation, limits.maxBlockingMs))) {
          throw gaveUp(context.call, sent.task.shownId);
        }
        const view = sendView(request);
        const { task, generation } = waits ? await sent.task.answer(view) : sent.task.now(view);
        response.payload = { case: "task", value: withGeneration(context.call, task, generation) };
        const weight = weightOf(task);
        if (weight !== undefined) await budget.hold(context.call, weight);
        return weight === undefined ? response : mark(response, { weight });
      } finally {
        sent.task.release();
      }
    },

    async *sendStreamingMessage(request, context) {
      const { call } = context;
      const sent = await acceptMessage(options, request, context, sendView(request));
      if (sent.kind === "message") {
        const response = create(StreamResponseSchema);
        response.payload = { case: "message", value: sent.message };
        yield response;
        return;
      }
      call.taskId = sent.task.shownId;
      try {
        const begin = sent.task.accepted ?? sent.task.now(sendView(request));
        const first = taskResponse(call, begin.task, begin.generation);
        if (weightOf(first) === undefined) yield first;
        else yield* budget.admitEvent(call, first);
        for await (const event of sent.task.events(begin, call.cancellation)) {
          const shown = eventWithGeneration(call, event);
          if (weightOf(shown) === undefined) yield shown;
          else yield* budget.admitEvent(call, shown);
        }
      } finally {
        sent.task.release();
      }
    },
  };
}

function sendView(request: SendMessageRequest): View {
  return { historyLength: request.configuration?.historyLength };
}

function acceptMessage(
  options: ServiceOptions,
  request: SendMessageRequest,
  context: Context,
  capture?: View,
): Promise<SendResult> {
  const config = request.configuration?.taskPushNotificationConfig;
  return config === undefined
    ? accept(options, request, context, { client: context.call, capture })
    : sendWithConfig(options, request, context, { client: context.call, capture, config });
}

/** The parts of a send command that do not come from the message. */
type SendParts = Pick<SendCommand, "client" | "capture" | "admit" | "pushConfig">;

/**
 * Sends a message with a push configuration. The configuration is checked before anything is stored, and stored
 * together with the message (specification 3.2.2).
 */
async function sendWithConfig(
  options: ServiceOptions,
  request: SendMessageRequest,
  context: Context,
  { config, ...parts }: SendParts & { readonly config: TaskPushNotificationConfig },
): Promise<SendResult> {
  let accepted: AcceptedConfig | undefined;
  let storedFor = "";
  const sent = await accept(options, request, context, {
    ...parts,
    // Not called for a retry of an accepted message. Such a retry is not checked again, even if the webhook's name has
    // changed, and stores nothing.
    admit: async () => {
      accepted = await configOfSend(options, config, context, request.message?.taskId ?? "");
    },
    pushConfig: (taskId) => {
      storedFor = taskId;
      // `admit` has run, because nothing is stored without it.
      return defined(accepted).storedFor(taskId);
    },
  });
  if (accepted !== undefined && storedFor !== "") {
    recordConfig(options, context, "push.config-stored", {
      taskId: storedFor,
      configId: accepted.configIdFor(storedFor),
    });
  }
  return sent;
}

/** Creates a task immediately, unless its agent must accept the message first. A direct answer waits for the agent. */
function accept(
  options: ServiceOptions,
  request: SendMessageRequest,
  context: Context,
  parts: SendParts,
): Promise<SendResult> {
  const { engine } = options;
  const { responds = "task", accept } = context.served.agent;
  if (responds === "task" && accept === undefined) return engine.send(sendCommand(options, request, context, parts));
  const { capture, admit, pushConfig } = parts;
  const direct = new DirectSend(context.call, engine.directCalls);
  const directParts: SendParts = { client: direct, capture, admit, pushConfig };
  return direct.result(engine.send(sendCommand(options, request, context, directParts)));
}

function sendCommand(
  options: ServiceOptions,
  request: SendMessageRequest,
  { call, served }: Context,
  { client, capture, admit, pushConfig }: SendParts,
): SendCommand {
  if (request.message !== undefined) checkInputModes(served.card, request.message);
  if (served.agent.checkOutputModes === true) checkOutputModes(served.card, request.configuration);
  return {
    served,
    request,
    caller: call.caller,
    tenant: call.tenant,
    extensions: call.extensions,
    traceParent: call.traceParent,
    traceState: call.traceState,
    span: spanOf(call),
    requestId: call.requestId,
    delegationDepth: delegationDepthOf(call.header(DELEGATION_DEPTH)),
    bearer: options.keepsBearer?.() === true ? bearerOf(call) : undefined,
    client,
    capture,
    admit,
    admitToTask: call.admitToTask,
    pushConfig,
    idempotency: idempotencyOf(options, request, call),
    ifGeneration: expectedGeneration(call),
    version: call.version === "" || call.version === options.versions.native.name ? undefined : call.version,
    namesTasks: versionFactsOf(call).namesTasks,
    held: call.held,
  };
}

/** Returns the caller's bearer token, if the caller is authenticated. */
function bearerOf(call: Call): CallerToken | undefined {
  const token = call.caller.authenticated ? httpCredentials(call, "bearer") : undefined;
  return token === undefined ? undefined : new CallerToken(token);
}

function idempotencyOf(options: ServiceOptions, request: SendMessageRequest, call: Call): SendCommand["idempotency"] {
  const key = call.header(IDEMPOTENCY_KEY)?.trim();
  if (key !== undefined && (key === "" || key.length > requestBounds.maxIdLength)) {
    const description = `must have 1 to ${requestBounds.maxIdLength} characters`;
    throw invalid([{ field: "Idempotency-Key", description }]);
  }
  const messageId = options.idempotentMessageIds === true ? request.message?.messageId : undefined;
  if (key === undefined && messageId === undefined) return undefined;
  // The configuration describes the answer and is not part of the fingerprint: a retry may stream an answer that the
  // first attempt waited for.
  const { configuration: _, ...asked } = request;
  const fingerprint = createHash("sha256").update(toBinary(SendMessageRequestSchema, asked)).digest("base64url");
  return { key: key === undefined ? `message:${messageId}` : `key:${key}`, fingerprint };
}

function gaveUp(call: Call, taskId: string): A2AError {
  return call.cancellation.canceled
    ? new A2AError("CANCELLED", "The client went away before the task finished or paused.")
    : new A2AError("DEADLINE_EXCEEDED", "The task did not finish or pause in time; it continues.", {
        metadata: { taskId },
      });
}
