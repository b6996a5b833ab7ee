import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type AgentCard,
  Role,
  SendMessageRequestSchema,
  type Task,
  TaskState,
} from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../../client/client.js";
import { clientError } from "../../../client/errors/errors.js";
import type { A2AError, Reason } from "../../../core/error.js";
import { isTerminal } from "../../../task/state.js";

/** What checks of one interface share. */
export interface Probe {
  readonly client: A2AClient;
  readonly card: AgentCard;
  readonly text: string;
  readonly signal: AbortSignal;
  /** The task that the message began; undefined if the agent answered with a message. */
  task?: Task;
}

/** A requirement that a client can check by calls. */
export interface Check {
  readonly name: string;
  /** Section of the specification of A2A. */
  readonly section: string;
  readonly requirement: string;
  /** True if older versions of the protocol do not have it. */
  readonly isNew?: boolean;
  /** Returns what is wrong, undefined if nothing is, or a reason not to check. */
  readonly run: (probe: Probe) => Promise<Finding>;
}

/** Result of a check: a fault, a reason to skip it, or undefined if the requirement is met. */
export type Finding = { readonly fault: string } | { readonly skipped: string } | undefined;

const unknownId = (): string => `unknown-${randomUUID()}`;

/** A version that no agent speaks. */
const UNKNOWN_VERSION = "99.0";

/** Calls, and expects an error. */
async function expectError(call: Promise<unknown>, ...reasons: readonly Reason[]): Promise<Finding> {
  const wanted = reasons.join(" or ");
  const error = await errorOf(call);
  if (error === undefined) return { fault: `the call succeeded, expected ${wanted}` };
  if (reasons.includes(error.reason)) return undefined;
  return { fault: `expected ${wanted}, got ${error.reason}: ${error.message}` };
}

/** Errors that say nothing about a requirement. */
const unanswered: ReadonlySet<Reason> = new Set<Reason>([
  "UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "UNAUTHENTICATED",
  "PERMISSION_DENIED",
]);

/** Returns the error of a call. @throws A2AError if the call got no answer, or was not allowed */
async function errorOf(call: Promise<unknown>): Promise<A2AError | undefined> {
  try {
    await call;
    return undefined;
  } catch (thrown) {
    const error = clientError(thrown);
    if (unanswered.has(error.reason)) throw error;
    return error;
  }
}

async function firstOf<T>(stream: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of stream) return item;
  return undefined;
}

function request({ text }: Probe) {
  const message = {
    messageId: randomUUID(),
    role: Role.USER,
    parts: [{ content: { case: "text" as const, value: text } }],
  };
  return create(SendMessageRequestSchema, { message, configuration: { returnImmediately: true } });
}

function faultOfTask(task: Task): Finding {
  if (task.id === "") return { fault: "the task has no id" };
  if (task.contextId === "") return { fault: "the task has no contextId" };
  const state = task.status?.state ?? TaskState.UNSPECIFIED;
  return state === TaskState.UNSPECIFIED ? { fault: "the task has no state" } : undefined;
}

const noTask: Finding = { skipped: "the agent answers with messages, without tasks" };

/** All checks of an interface, in their order: later ones use the task of `send`. */
export const checks: readonly Check[] = [
  {
    name: "unknown-task",
    section: "3.1.3",
    requirement: "GetTask of an unknown task fails with TaskNotFoundError",
    run: ({ client, signal }) => expectError(client.getTask({ id: unknownId() }, { signal }), "TASK_NOT_FOUND"),
  },
  {
    name: "unknown-version",
    section: "3.6.2",
    requirement: "a version that is not supported fails with VersionNotSupportedError",
    run: ({ client, signal }) =>
      expectError(
        client.getTask({ id: unknownId() }, { signal, headers: { "a2a-version": UNKNOWN_VERSION } }),
        "VERSION_NOT_SUPPORTED",
      ),
  },
  {
    name: "send",
    section: "3.1.1",
    requirement: "SendMessage answers with a task or a message",
    run: async (probe) => {
      const { payload } = await probe.client.sendMessage(request(probe), { signal: probe.signal });
      if (payload.case === undefined) return { fault: "the answer is neither a task nor a message" };
      if (payload.case === "task") {
        probe.task = payload.value;
        return faultOfTask(payload.value);
      }
      if (payload.value.messageId === "") return { fault: "the message has no messageId" };
      return payload.value.role === Role.AGENT ? undefined : { fault: "the role of the message is not ROLE_AGENT" };
    },
  },
  {
    name: "get",
    section: "3.1.3",
    requirement: "GetTask returns the task that was begun",
    run: async ({ client, task, signal }) => {
      if (task === undefined) return noTask;
      const got = await client.getTask({ id: task.id }, { signal });
      if (got.id !== task.id) return { fault: `the id is ${got.id}, expected ${task.id}` };
      if (got.contextId !== task.contextId) return { fault: `the contextId differs: ${got.contextId}` };
      return faultOfTask(got);
    },
  },
  {
    name: "list",
    isNew: true,
    section: "3.1.4",
    requirement: "ListTasks finds the task by its context",
    run: async ({ client, task, signal }) => {
      if (task === undefined) return noTask;
      const { tasks } = await client.listTasks({ contextId: task.contextId }, { signal });
      if (tasks.some(({ contextId }) => contextId !== task.contextId))
        return { fault: "tasks of other contexts are listed" };
      return tasks.some(({ id }) => id === task.id) ? undefined : { fault: "the task is not listed" };
    },
  },
  {
    name: "cancel",
    section: "3.1.5",
    requirement: "CancelTask cancels, or fails with TaskNotCancelableError",
    run: async (probe) => {
      const { client, task, signal } = probe;
      if (task === undefined) return noTask;
      const error = await errorOf(
        client.cancelTask({ id: task.id }, { signal }).then((canceled) => {
          probe.task = canceled;
        }),
      );
      if (error === undefined) return probe.task?.id === task.id ? undefined : { fault: "another task is returned" };
      if (error.reason !== "TASK_NOT_CANCELABLE") return { fault: `got ${error.reason}: ${error.message}` };
      probe.task = await client.getTask({ id: task.id }, { signal });
      return undefined;
    },
  },
  {
    name: "cancel-unknown",
    section: "3.1.5",
    requirement: "CancelTask of an unknown task fails with TaskNotFoundError",
    run: ({ client, signal }) => expectError(client.cancelTask({ id: unknownId() }, { signal }), "TASK_NOT_FOUND"),
  },
  {
    name: "finished-task",
    section: "3.1.1",
    requirement: "a message to a finished task fails with UnsupportedOperationError",
    run: async (probe) => {
      const { client, task, signal } = probe;
      if (task === undefined) return noTask;
      if (!isTerminal(task.status?.state ?? TaskState.UNSPECIFIED)) return { skipped: "the task is not finished" };
      const again = request(probe);
      if (again.message !== undefined) again.message.taskId = task.id;
      return expectError(client.sendMessage(again, { signal }), "UNSUPPORTED_OPERATION");
    },
  },
  {
    name: "stream",
    section: "3.1.2",
    requirement:
      "SendStreamingMessage begins with a task or a message; undeclared, it fails with UnsupportedOperationError",
    run: async (probe) => {
      const { client, card, signal } = probe;
      const first = firstOf(client.sendStreamingMessage(request(probe), { signal }));
      if (card.capabilities?.streaming !== true) return expectError(first, "UNSUPPORTED_OPERATION");
      const { payload } = (await first) ?? {};
      if (payload?.case === "task") {
        await errorOf(client.cancelTask({ id: payload.value.id }, { signal }));
        return faultOfTask(payload.value);
      }
      return payload?.case === "message" ? undefined : { fault: `the first event is ${payload?.case ?? "missing"}` };
    },
  },
  {
    name: "push",
    section: "3.1.7",
    requirement: "undeclared, push notifications fail with PushNotificationNotSupportedError",
    run: async ({ client, card, task, signal }) => {
      if (card.capabilities?.pushNotifications === true) return { skipped: "the agent declares them" };
      const call = client.createTaskPushNotificationConfig(
        { taskId: task?.id ?? unknownId(), url: "https://example.org/" },
        { signal },
      );
      return expectError(call, "PUSH_NOTIFICATION_NOT_SUPPORTED");
    },
  },
  {
    name: "extended-card",
    isNew: true,
    section: "3.1.11",
    requirement: "GetExtendedAgentCard returns a card; undeclared, it fails with UnsupportedOperationError",
    run: async ({ client, card, signal }) => {
      const call = client.getExtendedAgentCard({}, { signal });
      if (card.capabilities?.extendedAgentCard !== true) return expectError(call, "UNSUPPORTED_OPERATION");
      return (await call).name === "" ? { fault: "the card has no name" } : undefined;
    },
  },
];
