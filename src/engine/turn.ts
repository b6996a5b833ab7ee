import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Message, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller } from "../core/caller.js";
import type { Turn } from "./agent.js";
import type { Interruptible } from "./interruption.js";
import { dataOf, textOf } from "./message.js";

/** One accepted message with everything its execution needs. */
export interface TurnRequest {
  readonly message: Message;
  /** Position of the entry that accepted it; 0 while there is no task. */
  readonly position: number;
  readonly attempt: number;
  readonly caller: Caller;
  readonly tenant: string;
  readonly extensions: ReadonlySet<string>;
  readonly acceptedOutputModes: readonly string[];
  readonly metadata: JsonObject;
  readonly traceParent: string;
}

/** What surrounds a turn when it begins. */
export interface TurnSurroundings {
  /** The task as it stands, the message of this turn included; undefined when there is none yet. */
  readonly task: Task | undefined;
  readonly interruptible: Interruptible;
  readonly referencedTasks: () => Promise<Task[]>;
}

/** The turn as the agent sees it. */
export function makeTurn(request: TurnRequest, around: TurnSurroundings): Turn {
  const message = copyOf(request.message);
  let data: JsonValue[] | undefined;
  return {
    message,
    text: textOf(message),
    get data() {
      data ??= dataOf(message);
      return data;
    },
    taskId: message.taskId,
    contextId: message.contextId,
    task: around.task,
    history: around.task?.history.filter((earlier) => earlier.messageId !== message.messageId) ?? [],
    referencedTasks: around.referencedTasks,
    caller: request.caller,
    tenant: request.tenant,
    extensions: request.extensions,
    acceptedOutputModes: request.acceptedOutputModes,
    metadata: request.metadata,
    attempt: request.attempt,
    get signal() {
      return around.interruptible.signal;
    },
  };
}

/** The message itself is part of the log: the agent gets one of its own, with lists and parts of its own. */
function copyOf(message: Message): Message {
  return {
    ...message,
    parts: message.parts.map((part) => ({ ...part, content: { ...part.content } })),
    extensions: message.extensions.slice(),
    referenceTaskIds: message.referenceTaskIds.slice(),
  };
}
