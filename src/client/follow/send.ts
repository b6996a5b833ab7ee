import { create } from "@bufbuild/protobuf";
import {
  type SendMessageRequest,
  type SendMessageResponse,
  SendMessageResponseSchema,
  type Task,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, type Reason, restated } from "../../core/error.js";
import type { Answer, Update } from "../../task/answer.js";
import type { MessageInput } from "../../task/message-input.js";
import type { FollowOptions, SendOnceOptions, SendOptions, StreamOptions } from "../calls/call-options.js";
import { callScopeOf, since } from "../calls/call-scope.js";
import { checkOptions, followChecks, sendChecks, streamChecks } from "../calls/check-options.js";
import { type ClientCore, questionOf } from "../calls/core.js";
import { type MessagePlace, messageOf, sendRequest } from "../calls/message-input.js";
import { idempotencyKeyOf, sendOnce } from "../calls/send-once.js";
import { clientError } from "../errors/errors.js";
import { ReceivedAnswer } from "./received.js";
import { questionBefore, TaskFollower } from "./task-follower.js";

/**
 * Sends a message and waits for the answer (specification 3.1.1). If a server answers before the task ends, although
 * that was not requested, the task is followed.
 * @throws A2AError
 */
export async function send(
  core: ClientCore,
  input: MessageInput,
  options: SendOnceOptions = {},
  place: MessagePlace = {},
): Promise<Answer> {
  checkOptions(options, sendChecks);
  const key = idempotencyKeyOf(core, options);
  const request = sendRequest(messageOf(input, place, key), options, options.returnImmediately === true);
  const startedAt = performance.now();
  // Set if the caller can end the call.
  const scope = options.signal === undefined && options.timeoutMs === undefined ? undefined : callScopeOf(options);
  try {
    const question = questionBefore(core, request);
    const answer = await sendOnce(core, request, options, scope, key);
    const isOpen = isUnderWay(answer) || isQuestion(answer, question);
    if (options.returnImmediately === true || !isOpen) return receivedAnswer(noteQuestion(core, answer));
    const { timeoutMs = core.sendTimeoutMs ?? 0 } = options;
    return receivedAnswer(await followToEnd(core, { request, answer }, since(startedAt, { ...options, timeoutMs })));
  } finally {
    scope?.end();
  }
}

function isUnderWay({ payload }: SendMessageResponse): boolean {
  const state = payload.case === "task" ? payload.value.status?.state : undefined;
  return state === TaskState.SUBMITTED || state === TaskState.WORKING;
}

/** True if the server returned the question that the message answers: the turn has not started. */
function isQuestion({ payload }: SendMessageResponse, question: string | undefined): boolean {
  return question !== undefined && payload.case === "task" && questionOf(payload.value.status) === question;
}

/** Records the question in an answer. */
function noteQuestion({ asked }: ClientCore, answer: SendMessageResponse): SendMessageResponse {
  if (answer.payload.case === "task") asked.note(answer.payload.value);
  return answer;
}

interface AnsweredSend {
  readonly request: SendMessageRequest;
  readonly answer: SendMessageResponse;
}

/** Follows the task of an answer until it is finished or waits for its client. */
async function followToEnd(
  core: ClientCore,
  answered: AnsweredSend,
  options: SendOptions,
): Promise<SendMessageResponse> {
  const { answer } = answered;
  let task = answer.payload.value as Task;
  try {
    for await (const update of new TaskFollower(core, options, answered).updates()) task = update.task ?? task;
  } catch (error) {
    const failure = clientError(error);
    // An agent without subscriptions and reads offers nothing beyond this answer.
    if (unfollowable.has(failure.reason)) return answer;
    throw restated(failure, { metadata: { taskId: task.id }, cause: error });
  }
  const { historyLength = task.history.length } = options;
  const history = historyLength > 0 ? task.history.slice(-historyLength) : [];
  return create(SendMessageResponseSchema, { payload: { case: "task", value: { ...task, history } } });
}

const unfollowable: ReadonlySet<Reason> = new Set<Reason>(["METHOD_NOT_FOUND", "UNSUPPORTED_OPERATION"]);

function receivedAnswer({ payload }: SendMessageResponse): Answer {
  if (payload.case !== undefined) return new ReceivedAnswer(payload.value);
  throw new A2AError("INVALID_AGENT_RESPONSE", "The answer has neither a task nor a message.");
}

/** Context and task of a message, and the task as its sender already knows it. */
interface StreamPlace extends MessagePlace {
  readonly known?: Task | undefined;
}

/**
 * Sends a message and follows the task until it is finished or waits for its client (specification 3.1.2). A lost
 * connection is resumed. Leaving the loop ends the call; the task continues.
 * @throws A2AError; UNAVAILABLE with `arrival: "unknown"` in its metadata if the message may have arrived and must not
 * be sent again
 */
export function stream(
  core: ClientCore,
  input: MessageInput,
  options: StreamOptions = {},
  { known, ...place }: StreamPlace = {},
): AsyncGenerator<Update, void, undefined> {
  checkOptions(options, streamChecks);
  const key = idempotencyKeyOf(core, options);
  const message = messageOf(input, place, key);
  // Without streaming the task is polled. An existing task would first be seen in its earlier state, so its send waits.
  const request = sendRequest(message, options, !core.canStream && message.taskId === "");
  return new TaskFollower(core, options, { request, key, known }).updates();
}

/**
 * Follows an existing task from its current state until it is finished or a turn ends (specification 3.1.6). A finished
 * task is one update.
 * @throws A2AError
 */
export function follow(
  core: ClientCore,
  taskId: string,
  options: FollowOptions = {},
  known?: Task,
): AsyncGenerator<Update, void, undefined> {
  checkOptions(options, followChecks);
  return new TaskFollower(core, options, { taskId, known }).updates();
}
