import { absent, present } from "../../support/match.js";
import { type Case, call, say, stream } from "../case.js";

/** Metadata that agents add to their tasks, and metadata of requests. */
export const metadataCases: readonly Case[] = [
  {
    name: "members of a task's metadata are merged, and each event says its own",
    ids: [],
    steps: [
      ...stream("SendStreamingMessage", say("note", { contextId: "{run}" }), {
        events: [
          { task: { status: { state: "TASK_STATE_SUBMITTED" }, metadata: absent } },
          { statusUpdate: { status: { state: "TASK_STATE_WORKING" }, metadata: { first: 1, shared: { a: [1] } } } },
          { statusUpdate: { status: { message: { parts: [{ text: "Half." }] } }, metadata: absent } },
          { statusUpdate: { status: { state: "TASK_STATE_WORKING" }, metadata: { shared: "b" } } },
          { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" }, metadata: absent } },
        ],
      }),
      call(
        "ListTasks",
        { contextId: "{run}" },
        { message: { tasks: [{ metadata: { first: 1, shared: "b" } }] }, save: { id: "tasks[0].id" } },
      ),
      call("GetTask", { id: "{id}" }, { message: { metadata: { first: 1, shared: "b" } } }),
      call("SendMessage", say("note"), { message: { task: { metadata: { first: 1, shared: "b" } } } }),
    ],
  },
  {
    name: "metadata after a question leaves the question, and the first request's metadata is known in each turn",
    ids: [],
    steps: [
      call("SendMessage", say("asknote Which one?", {}, { metadata: { plan: "gold" } }), {
        message: {
          task: {
            status: { state: "TASK_STATE_INPUT_REQUIRED", message: { parts: [{ text: "Which one?" }] } },
            history: [present],
          },
        },
        save: { taskId: "task.id" },
      }),
      call("SendMessage", say("begun", { taskId: "{taskId}" }, { metadata: { plan: "silver" } }), {
        message: {
          task: {
            status: { state: "TASK_STATE_COMPLETED" },
            history: [present, { parts: [{ text: "Which one?" }] }, present],
            artifacts: [{ parts: [{ data: { initial: { plan: "gold" }, now: { plan: "silver" } } }] }],
            metadata: { asked: true },
          },
        },
      }),
    ],
  },
];
