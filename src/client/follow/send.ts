import { create } from "@bufbuild/protobuf";
import {
  type Message,
  type SendMessageRequest,
  type SendMessageResponse,
  SendMessageResponseSchema,
  type Task,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, type Reason } from "../../core/error.js";
import type { FollowOptions, SendOnceOptions, SendOptions, StreamOptions } from "../calls/call-options.js";
import { checkCall, followRules, sendRules, streamRules } from "../calls/check.js";
import { type ClientCore, questionOf } from "../calls/core.js";
import { Lifetime, since } from "../calls/lifetime.js";
import { type MessageInput, type MessagePlace, messageOf, requestOf } from "../calls/message-input.js";
import { sendOnce } from "../calls/send-once.js";
import { clientError } from "../errors/errors.js";
import { Following, questionBefore } from "./following.js";
import { messageText, taskText, type Update } from "./update.js";

/** Answer of an agent: a task or a message. */
export interface Answer {
  readonly task: Task | undefined;
  readonly message: Message | undefined;
  /** What it says: of a message its text, of a task that of its artifacts, or else of its status. */
  readonly text: string;
  /** State of the task: terminal, or waiting for its client, unless the send did not wait. */
  readonly state: TaskState | undefined;
  readonly taskId: string | undefined;
  readonly contextId: string;
}

/**
 * Sends a message and waits for the answer (specification 3.1.1). The task of a server that answers before its end, though it was not
 * asked to, is followed.
 * @throws A2AError
 */
export async function send(
  core: ClientCore,
  input: MessageInput,
  options: SendOnceOptions = {},
  place: MessagePlace = {},
): Promise<Answer> {
  checkCall(options, sendRules);
  const request = requestOf(messageOf(input, place), options, options.returnImmediately === true);
  const startedAt = performance.now();
  // A call that its caller can end.
  const life = options.signal === undefined && options.timeoutMs === undefined ? undefined : new Lifetime(options);
  try {
    const question = questionBefore(core, request);
    const answer = await sendOnce(core, request, options, life);
    const isOpen = isUnderWay(answer) || isQuestion(answer, question);
    if (options.returnImmediately === true || !isOpen) return answerOf(noted(core, answer));
    const { timeoutMs = core.sendTimeoutMs ?? 0 } = options;
    return answerOf(await ended(core, { request, answer }, since(startedAt, { ...options, timeoutMs })));
  } finally {
    life?.end();
  }
}

function isUnderWay({ payload }: SendMessageResponse): boolean {
  const state = payload.case === "task" ? payload.value.status?.state : undefined;
  return state === TaskState.SUBMITTED || state === TaskState.WORKING;
}

/** The server shows the question that the message answers: it has not begun the turn. */
function isQuestion({ payload }: SendMessageResponse, question: string | undefined): boolean {
  return question !== undefined && payload.case === "task" && questionOf(payload.value.status) === question;
}

/** Remembers the question that an answer asks. */
function noted({ asked }: ClientCore, answer: SendMessageResponse): SendMessageResponse {
  if (answer.payload.case === "task") asked.note(answer.payload.value);
  return answer;
}

interface Answered {
  readonly request: SendMessageRequest;
  readonly answer: SendMessageResponse;
}

/** The answer with the task as it is when it is over or waits for its client. */
async function ended(core: ClientCore, answered: Answered, options: SendOptions): Promise<SendMessageResponse> {
  const { answer } = answered;
  let task = answer.payload.value as Task;
  try {
    for await (const update of new Following(core, options, answered).updates()) task = update.task ?? task;
  } catch (error) {
    const { reason, message, metadata, headers, retryAfterMs } = clientError(error);
    // Of an agent with neither subscriptions nor reads, the answer is all that can be known.
    if (unfollowable.has(reason)) return answer;
    throw new A2AError(reason, message, {
      metadata: { ...metadata, taskId: task.id },
      headers: Object.fromEntries(headers),
      cause: error,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  }
  const { historyLength = task.history.length } = options;
  const history = historyLength > 0 ? task.history.slice(-historyLength) : [];
  return create(SendMessageResponseSchema, { payload: { case: "task", value: { ...task, history } } });
}

const unfollowable: ReadonlySet<Reason> = new Set<Reason>(["METHOD_NOT_FOUND", "UNSUPPORTED_OPERATION"]);

function answerOf({ payload }: SendMessageResponse): Answer {
  switch (payload.case) {
    case "task": {
      const task = payload.value;
      const { id: taskId, contextId, status } = task;
      return { task, message: undefined, text: taskText(task), state: status?.state, taskId, contextId };
    }
    case "message": {
      const message = payload.value;
      const { contextId } = message;
      return { task: undefined, message, text: messageText(message), state: undefined, taskId: undefined, contextId };
    }
    default:
      throw new A2AError("INVALID_AGENT_RESPONSE", "The answer has neither a task nor a message.");
  }
}

/** Where a message belongs, and what its sender knows of its task already: that is no news. */
interface StreamPlace extends MessagePlace {
  readonly known?: Task | undefined;
}

/**
 * Sends a message and follows what becomes of it, until the task is over or waits for its client (specification 3.1.2). A stream that
 * is cut is gone on with. Leaving the loop ends the call; the task goes on.
 * @throws A2AError; UNAVAILABLE with `arrival: "unknown"` in its metadata where the message may have arrived and may not be sent again
 */
export function stream(
  core: ClientCore,
  input: MessageInput,
  options: StreamOptions = {},
  { known, ...place }: StreamPlace = {},
): AsyncGenerator<Update, void, undefined> {
  checkCall(options, streamRules);
  const message = messageOf(input, place);
  // Without a stream the task is looked at again and again; one that is there already would be seen as it was before.
  const request = requestOf(message, options, !core.canStream && message.taskId === "");
  return new Following(core, options, { request, known }).updates();
}

/**
 * Follows a task that is there, from its present state on, until it is over or a turn of it ends (specification 3.1.6). A task that is
 * over already is one update.
 * @throws A2AError
 */
export function follow(
  core: ClientCore,
  taskId: string,
  options: FollowOptions = {},
  known?: Task,
): AsyncGenerator<Update, void, undefined> {
  checkCall(options, followRules);
  return new Following(core, options, { taskId, known }).updates();
}
