import type { Message, SendMessageResponse, Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import type { SendOptions } from "./call-options.js";
import type { ClientCore } from "./client.js";
import { Lifetime } from "./lifetime.js";
import { type MessageInput, type MessagePlace, messageOf, requestOf } from "./message-input.js";
import { sendOnce } from "./send-once.js";
import { messageText, taskText } from "./text.js";

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
  // A call that its caller can end.
  const life = options.signal === undefined && options.timeoutMs === undefined ? undefined : new Lifetime(options);
  try {
    return answerOf(await sendOnce(core, request, options, life));
  } finally {
    life?.end();
  }
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
