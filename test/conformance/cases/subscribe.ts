import { absent, type Pattern, present } from "../../support/match.js";
import { type Case, call, finish, open, read, release, say, stream } from "../case.js";
import { asked, ended } from "./steps.js";

const over: Pattern = { statusUpdate: { taskId: "{taskId}", status: { state: "TASK_STATE_COMPLETED" } } };

/** Subscriptions to existing tasks. */
export const subscribeCases: readonly Case[] = [
  {
    name: "a subscription begins with the task as it stands, and what comes after is neither missed nor told twice",
    ids: ["SRV-SUB-04", "SRV-SUB-05", "SRV-SUB-06"],
    steps: [
      open("first", "SendStreamingMessage", say("half {run}")),
      read("first", [{ task: present }, { statusUpdate: present }, { artifactUpdate: present }], {
        taskId: "[0].task.id",
      }),
      open("a", "SubscribeToTask", { id: "{taskId}" }),
      read("a", [
        {
          task: {
            id: "{taskId}",
            status: { state: "TASK_STATE_WORKING", message: { parts: [{ text: "Begun." }] } },
            artifacts: [{ name: "halves", parts: [{ text: "one" }] }],
          },
        },
      ]),
      release("{run}"),
      finish("a", { events: [{ artifactUpdate: { append: true, artifact: { parts: [{ text: "two" }] } } }, over] }),
    ],
  },
  ...Object.entries(ended).map(
    ([state, steps]): Case => ({
      name: `nobody can subscribe to a task in ${state}`,
      ids: ["SRV-SUB-02", "SRV-ERR-06"],
      steps: [
        ...steps,
        ...stream("SubscribeToTask", { id: "{taskId}" }, { error: { reason: "UNSUPPORTED_OPERATION" } }),
      ],
    }),
  ),
  {
    name: "nobody can subscribe to a task that does not exist",
    ids: ["SRV-SUB-03", "SRV-ERR-11"],
    steps: stream(
      "SubscribeToTask",
      { id: "unknown" },
      { error: { reason: "TASK_NOT_FOUND", info: { taskId: "unknown" } } },
    ),
  },
  {
    name: "a subscription to a task that waits for its client lasts until the end",
    ids: ["SRV-SUB-06", "SRV-SUB-07"],
    steps: [
      asked,
      open("a", "SubscribeToTask", { id: "{taskId}" }),
      read("a", [{ task: { id: "{taskId}", status: { state: "TASK_STATE_INPUT_REQUIRED" } } }]),
      call("SendMessage", say("echo blue", { taskId: "{taskId}" }), { message: present }),
      finish("a", {
        events: [
          { statusUpdate: { status: { state: "TASK_STATE_WORKING" } } },
          { artifactUpdate: { artifact: { parts: [{ text: "blue" }] } } },
          over,
        ],
      }),
    ],
  },
  {
    name: "a subscription to a task that waits for authorization lasts until the end",
    ids: ["SRV-SUB-07", "SRV-INTA-05"],
    steps: [
      open("first", "SendStreamingMessage", say("authwait {run}")),
      read(
        "first",
        [
          { task: present },
          { statusUpdate: present },
          { statusUpdate: { status: { state: "TASK_STATE_AUTH_REQUIRED" } } },
        ],
        {
          taskId: "[0].task.id",
        },
      ),
      open("a", "SubscribeToTask", { id: "{taskId}" }),
      read("a", [{ task: { status: { state: "TASK_STATE_AUTH_REQUIRED" }, artifacts: absent } }]),
      release("{run}"),
      finish("a", {
        events: [{ statusUpdate: { status: { state: "TASK_STATE_WORKING" } } }, { artifactUpdate: present }, over],
      }),
    ],
  },
];
