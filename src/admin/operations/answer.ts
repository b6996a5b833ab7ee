import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role, SendMessageRequestSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type AnswerTaskRequest, AnswerTaskResponseSchema } from "../../../gen/parley/admin/v1/admin_pb.js";
import type { AgentRegistration } from "../../card/agents.js";
import type { Caller } from "../../core/call.js";
import { A2AError, invalid, taskNotFound } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import type { SendCommand } from "../../engine/engine.js";
import { checkInputModes } from "../../service/media-modes.js";
import type { TaskHead } from "../../store/task-store.js";
import { isInterrupted } from "../../task/state.js";
import type { AdminContext, AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { storedSummary } from "./task-summary.js";

/**
 * Key in the metadata of a message that an operator has sent, with the value `operator`. Clients can set it as well, so
 * only the audit log proves which operator answered.
 */
const SENT_BY = "parley.sentBy";

/** Answers tasks that wait for a person. */
export function answerOperation(parts: AdminParts): Pick<AdminMethods, "answerTask"> {
  return {
    async answerTask(request, context) {
      const { taskId, parts: content } = request;
      const { maxParts } = parts.limits;
      if (content.length > maxParts) {
        throw invalid([{ field: "parts", description: `must have at most ${maxParts} items` }]);
      }
      const head = await waitingTask(parts, request);
      const served = parts.agents.resolve(head.tenant);
      if (served === undefined) {
        throw new A2AError("UNSUPPORTED_OPERATION", "No agent serves the tenant of the task.", {
          metadata: { taskId },
        });
      }
      const message = messageTo(request);
      checkInputModes(served.card, message);
      const sent = await parts.engine.send(commandOf(head, message, served, context)).catch((error: unknown) => {
        throw isOvertaken(error) ? notWaiting(taskId) : error;
      });
      if (sent.kind === "task") sent.task.release();
      return create(AnswerTaskResponseSchema, { task: await storedSummary(parts, taskId) });
    },
  };
}

/** Reads the row of a task that waits. @throws A2AError TASK_NOT_FOUND, UNSUPPORTED_OPERATION */
async function waitingTask({ store }: AdminParts, { taskId, generation }: AnswerTaskRequest): Promise<TaskHead> {
  const head = await store.head({ taskId });
  if (head === undefined) throw taskNotFound(taskId);
  if (!isInterrupted(head.state) || (generation ?? head.generation) !== head.generation) throw notWaiting(taskId);
  return head;
}

function messageTo({ taskId, parts }: AnswerTaskRequest): Message {
  const metadata = { [SENT_BY]: "operator" };
  return create(MessageSchema, { messageId: newId(), role: Role.USER, taskId, parts, metadata });
}

function commandOf(head: TaskHead, message: Message, served: AgentRegistration, { call }: AdminContext): SendCommand {
  const { tenant, generation, taskId } = head;
  return {
    served,
    request: create(SendMessageRequestSchema, { message }),
    caller: ownerOf(head),
    tenant,
    extensions: new Set(),
    traceParent: call.traceParent,
    traceState: call.traceState,
    requestId: call.requestId,
    client: call,
    // Otherwise two simultaneous answers would both be accepted.
    idempotency: { key: `operator:${taskId}:${generation}`, fingerprint: fingerprintOf(message) },
    ifGeneration: generation,
  };
}

/** The owner as the caller of a turn. The scopes and claims of its own calls are unknown, so it has none. */
function ownerOf({ owner }: TaskHead): Caller {
  return { owner, authenticated: owner !== "", scopes: [], claims: {} };
}

function fingerprintOf({ parts }: Message): string {
  const content = toBinary(MessageSchema, create(MessageSchema, { parts }));
  return createHash("sha256").update(content).digest("base64url");
}

function isOvertaken(error: unknown): boolean {
  return error instanceof A2AError && /^(GENERATION_MISMATCH|IDEMPOTENCY_KEY_REUSED)$/.test(error.reason);
}

function notWaiting(taskId: string): A2AError {
  return new A2AError("UNSUPPORTED_OPERATION", "The task does not wait for this answer.", { metadata: { taskId } });
}
