import { Role, type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { isTerminal } from "../../task/state.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";
import { type Check, callError, expectError, type Finding, ofBegunTask, request, sent, unknownId } from "../check.js";

/** A version that no agent speaks. */
const UNKNOWN_VERSION = "99.0";

/** Time for an answer to a message, in milliseconds: older agents answer when the task is over. */
const SEND_MS = 30_000;

/** Returns the first required member that a task lacks, as a fault. */
export function faultOfTask(task: Task): Finding {
  if (task.id === "") return { fault: "the task has no id" };
  if (task.contextId === "") return { fault: "the task has no contextId" };
  const state = task.status?.state ?? TaskState.UNSPECIFIED;
  return state === TaskState.UNSPECIFIED ? { fault: "the task has no state" } : undefined;
}

/** Checks of the operations on one task, in their order: later ones use the task of `send`. */
export const operationChecks: readonly Check[] = [
  {
    name: "unknown-task",
    section: "3.1.3",
    requirement: "GetTask of an unknown task fails with TaskNotFoundError",
    mend: "answer GetTask with TaskNotFoundError when the store has no such task",
    run: ({ client, signal }) => expectError(client.getTask({ id: unknownId() }, { signal }), "TASK_NOT_FOUND"),
  },
  {
    name: "unknown-version",
    isNew: true,
    section: "3.6.2",
    requirement: "a version that is not supported fails with VersionNotSupportedError",
    mend: "compare the header A2A-Version with the versions of the card before a call is processed",
    run: ({ client, signal }) =>
      expectError(
        client.getTask({ id: unknownId() }, { signal, headers: { [VERSION_PARAMETER]: UNKNOWN_VERSION } }),
        "VERSION_NOT_SUPPORTED",
      ),
  },
  {
    name: "send",
    section: "3.1.1",
    requirement: "SendMessage answers with a task or a message",
    mend: "answer with a task that has id, contextId and status, or with a message that has a messageId and ROLE_AGENT",
    run: async (probe) => {
      const deadline = AbortSignal.timeout(SEND_MS);
      const signal = AbortSignal.any([probe.signal, deadline]);
      const answer = await probe.client.sendMessage(request(probe), { signal }).catch((error: unknown) => {
        if (deadline.aborted && !probe.signal.aborted) return undefined;
        throw error;
      });
      if (answer === undefined) return { skipped: `the agent did not answer within ${SEND_MS / 1000} s` };
      const { payload } = answer;
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
    name: "empty-message",
    isAdvice: true,
    section: "5.7",
    requirement: "a message without parts fails with InvalidParamsError",
    mend: "refuse messages without parts before they reach the agent",
    run: (probe) => expectError(sent(probe, { parts: [] }), "INVALID_PARAMS"),
  },
  {
    name: "send-unknown",
    isOfAgentsIds: true,
    section: "3.4.2",
    requirement: "a message to an unknown task fails with TaskNotFoundError",
    mend: "look up the taskId of a message, and begin a new task only for messages without one",
    run: (probe) => expectError(sent(probe, { taskId: unknownId() }), "TASK_NOT_FOUND"),
  },
  {
    name: "get",
    section: "3.1.3",
    requirement: "GetTask returns the task that was begun",
    mend: "store a task before it is answered, and read it by its id",
    run: ofBegunTask(async (task, { client, signal }) => {
      const got = await client.getTask({ id: task.id }, { signal });
      if (got.id !== task.id) return { fault: `the id is ${got.id}, expected ${task.id}` };
      if (got.contextId !== task.contextId) return { fault: `the contextId differs: ${got.contextId}` };
      return faultOfTask(got);
    }),
  },
  {
    name: "history-length",
    section: "3.2.4",
    requirement: "GetTask with a historyLength of 0 returns no history",
    mend: "cut the history to historyLength in every answer; 0 means none, a missing value all",
    run: ofBegunTask(async (task, { client, signal }) => {
      const { history } = await client.getTask({ id: task.id, historyLength: 0 }, { signal });
      return history.length === 0 ? undefined : { fault: `${history.length} messages are returned` };
    }),
  },
  {
    name: "cancel",
    section: "3.1.5",
    requirement: "CancelTask cancels, or fails with TaskNotCancelableError",
    mend: "answer CancelTask with the canceled task, or with TaskNotCancelableError",
    run: ofBegunTask(async (task, probe) => {
      const { client, signal } = probe;
      const error = await callError(
        client.cancelTask({ id: task.id }, { signal }).then((canceled) => {
          probe.task = canceled;
        }),
      );
      if (error === undefined) return probe.task?.id === task.id ? undefined : { fault: "another task is returned" };
      if (error.reason !== "TASK_NOT_CANCELABLE") return { fault: `got ${error.reason}: ${error.message}` };
      probe.task = await client.getTask({ id: task.id }, { signal });
      return undefined;
    }),
  },
  {
    name: "cancel-unknown",
    section: "3.1.5",
    requirement: "CancelTask of an unknown task fails with TaskNotFoundError",
    mend: "answer CancelTask with TaskNotFoundError when the store has no such task",
    run: ({ client, signal }) => expectError(client.cancelTask({ id: unknownId() }, { signal }), "TASK_NOT_FOUND"),
  },
  {
    name: "finished-task",
    isOfAgentsIds: true,
    section: "3.1.1",
    requirement: "a message to a finished task fails with UnsupportedOperationError",
    mend: "refuse messages to tasks in a terminal state; a new task in the same context continues the talk",
    run: ofBegunTask(async (task, probe) => {
      if (!isTerminal(task.status?.state ?? TaskState.UNSPECIFIED)) return { skipped: "the task is not finished" };
      return expectError(sent(probe, { taskId: task.id }), "UNSUPPORTED_OPERATION");
    }),
  },
  {
    name: "other-context",
    isOfAgentsIds: true,
    section: "3.4.3",
    requirement: "a message whose contextId is not that of its task fails",
    mend: "compare the contextId of a message with that of the task that it names",
    run: ofBegunTask(async (task, probe) => {
      const error = await callError(sent(probe, { taskId: task.id, contextId: unknownId() }));
      return error === undefined ? { fault: "the message is accepted" } : undefined;
    }),
  },
  {
    name: "push",
    section: "3.1.7",
    requirement: "undeclared, push notifications fail with PushNotificationNotSupportedError",
    mend: "declare capabilities.pushNotifications, or answer its methods with PushNotificationNotSupportedError",
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
    mend: "declare capabilities.extendedAgentCard if there is such a card, and only then",
    run: async ({ client, card, signal }) => {
      const call = client.getExtendedAgentCard({}, { signal });
      if (card.capabilities?.extendedAgentCard !== true) return expectError(call, "UNSUPPORTED_OPERATION");
      return (await call).name === "" ? { fault: "the card has no name" } : undefined;
    },
  },
];
