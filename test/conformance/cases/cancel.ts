import { absent, type Pattern, present } from "../../support/match.js";
import {
  begin,
  type Case,
  call,
  finish,
  open,
  reached,
  read,
  release,
  type Step,
  say,
  sayAndGo,
  settle,
} from "../case.js";
import { asked, ended } from "./steps.js";

const running = (text: string): readonly Step[] => [
  call("SendMessage", sayAndGo(text), { save: { taskId: "task.id" } }),
  reached("{run}"),
];

const canceled: Pattern = { id: "{taskId}", status: { state: "TASK_STATE_CANCELED" } };

/** Cancels: their effect on the task, its agent and its readers. */
export const cancelCases: readonly Case[] = [
  {
    name: "a task at work is canceled",
    ids: ["SRV-CANC-01", "SRV-CANC-07"],
    steps: [
      ...running("wait {run}"),
      call(
        "CancelTask",
        { id: "{taskId}", metadata: { why: "no need" } },
        { message: { ...(canceled as object), artifacts: absent } },
      ),
      call("GetTask", { id: "{taskId}" }, { message: canceled }),
    ],
  },
  {
    name: "a task that waits for its client is canceled",
    ids: ["SRV-CANC-01"],
    steps: [asked, call("CancelTask", { id: "{taskId}" }, { message: canceled })],
  },
  {
    name: "an agent may finish instead, and the answer says so",
    ids: ["SRV-CANC-01"],
    steps: [
      ...running("wrapup {run}"),
      call(
        "CancelTask",
        { id: "{taskId}" },
        {
          message: {
            status: { state: "TASK_STATE_COMPLETED", message: { parts: [{ text: "Finished all the same." }] } },
          },
        },
      ),
    ],
  },
  {
    name: "an agent may say itself that it stopped",
    ids: ["SRV-CANC-01"],
    steps: [
      ...running("stopped {run}"),
      call(
        "CancelTask",
        { id: "{taskId}" },
        {
          message: { status: { state: "TASK_STATE_CANCELED", message: { parts: [{ text: "Stopped on request." }] } } },
        },
      ),
    ],
  },
  {
    name: "an agent that does not listen is left behind",
    ids: ["SRV-CANC-01", "SRV-CANC-04"],
    setup: "impatient",
    steps: [
      ...running("stubborn {run}"),
      call("CancelTask", { id: "{taskId}" }, { message: canceled }),
      release("{run}"),
      call("CancelTask", { id: "{taskId}" }, { error: { reason: "TASK_NOT_CANCELABLE" } }),
      call("GetTask", { id: "{taskId}" }, { message: { ...(canceled as object), artifacts: absent } }),
    ],
  },
  ...Object.entries(ended).map(
    ([state, steps]): Case => ({
      name: `a task in ${state} cannot be canceled`,
      ids: ["SRV-CANC-02", "SRV-CANC-04", "SRV-ERR-06"],
      steps: [
        ...steps,
        call(
          "CancelTask",
          { id: "{taskId}" },
          { error: { reason: "TASK_NOT_CANCELABLE", info: { taskId: "{taskId}" } } },
        ),
        call("GetTask", { id: "{taskId}" }, { message: { status: { state } } }),
      ],
    }),
  ),
  {
    name: "a task that does not exist cannot be canceled",
    ids: ["SRV-CANC-03", "SRV-ERR-11"],
    steps: [call("CancelTask", { id: "unknown" }, { error: { reason: "TASK_NOT_FOUND" } })],
  },
  {
    name: "streams get the news and end",
    ids: ["SRV-CANC-08", "SRV-SUB-06"],
    steps: [
      open("a", "SendStreamingMessage", say("wait {run}")),
      read("a", [{ task: present }, { statusUpdate: present }], { taskId: "[0].task.id" }),
      open("b", "SubscribeToTask", { id: "{taskId}" }),
      read("b", [{ task: present }]),
      call("CancelTask", { id: "{taskId}" }, { message: canceled }),
      finish("a", { events: [{ statusUpdate: { status: { state: "TASK_STATE_CANCELED" } } }] }),
      finish("b", { events: [{ statusUpdate: { status: { state: "TASK_STATE_CANCELED" } } }] }),
    ],
  },
  {
    name: "whoever waits for the task gets it as it is then",
    ids: ["SRV-SEND-03", "SRV-CANC-08"],
    steps: [
      begin("send", "SendMessage", say("wait {run}", { contextId: "{run}" })),
      reached("{run}"),
      call("ListTasks", { contextId: "{run}" }, { save: { taskId: "tasks[0].id" } }),
      call("CancelTask", { id: "{taskId}" }, { message: canceled }),
      settle("send", { message: { task: canceled } }),
    ],
  },
  {
    name: "messages that wait for their turn are not worked on any more",
    ids: ["SRV-CANC-01"],
    steps: [
      ...running("wait {run}"),
      begin("second", "SendMessage", say("echo second", { taskId: "{taskId}" })),
      call("ListTasks", {}, { message: present }),
      call("CancelTask", { id: "{taskId}" }, { message: { ...(canceled as object), artifacts: absent } }),
    ],
  },
];
