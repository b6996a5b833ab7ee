import type { Message, SendMessageResponse, Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { newId } from "../core/ids.js";
import { IDEMPOTENCY_KEY } from "../wire/extension-names.js";
import type { SendOptions } from "./call-options.js";
import type { ClientCore } from "./client.js";
import { isArrivalUnknown, unknownArrival } from "./cut.js";
import { clientError } from "./errors.js";
import { Lifetime } from "./lifetime.js";
import { type MessageInput, type MessagePlace, messageOf, requestOf } from "./message-input.js";
import { ofSkill } from "./skill.js";
import { messageText, taskText } from "./text.js";
import { type GivenHeaders, ownHeader } from "./transport/request-headers.js";

/** What an agent answered: a task or a message. */
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

/** What a send that is answered at once may say. */
export interface SendOnceOptions extends SendOptions {
  /** Answer as soon as there is a task, instead of when it is over or waits for its client. */
  readonly returnImmediately?: boolean;
}

/**
 * Sends a message and waits for the answer (specification 3.1.1).
 * @throws A2AError
 */
export async function send(
  core: ClientCore,
  input: MessageInput,
  options: SendOnceOptions = {},
  place: MessagePlace = {},
): Promise<Answer> {
  const request = requestOf(messageOf(input, place), options, options.returnImmediately === true);
  const key = options.idempotencyKey ?? (core.idempotent ? newId() : undefined);
  const headers = key === undefined ? options.headers : withKey(options, key);
  // A call that its caller can end.
  const life = options.signal === undefined && options.timeoutMs === undefined ? undefined : new Lifetime(options);
  try {
    return answerOf(
      await core.rpc.sendMessage(request, {
        ...(life !== undefined && { signal: life.signal }),
        ...(headers !== undefined && { headers }),
        // A time of the caller's own, which `life` keeps, takes the place of `sendTimeoutMs`; the agent is told of it.
        ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
        ...ofSkill(options.skill),
      }),
    );
  } catch (error) {
    if (life?.isOver !== true) throw error;
    const over = life.failure();
    const hasLeft = over.reason === "DEADLINE_EXCEEDED" || isArrivalUnknown(clientError(error));
    throw hasLeft ? unknownArrival(over, { key, isRepeatable: core.idempotent }) : over;
  } finally {
    life?.end();
  }
}

function withKey({ headers: given, idempotencyKey }: SendOptions, key: string): GivenHeaders {
  if (given === undefined && idempotencyKey === undefined) return ownHeader(IDEMPOTENCY_KEY, key);
  const headers = new Headers(given);
  headers.set(IDEMPOTENCY_KEY, key);
  return headers;
}

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
