import type { JsonObject } from "@bufbuild/protobuf";
import { absent, all, anId, aTime, having, like, not, type Pattern, present } from "../../support/match.js";
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
  type StepOptions,
  say,
  sayAndGo,
  settle,
} from "../case.js";
import { asked, done, ended } from "./steps.js";

/** A send that returns in a state with the agent's text. */
function comesBack(text: string, state: string, words: Pattern, ids: readonly string[]): Case {
  const message = {
    messageId: anId,
    role: "ROLE_AGENT",
    taskId: "{taskId}",
    contextId: "{contextId}",
    parts: [{ text: words }],
  };
  return {
    name: `"${text}" comes back as ${state}`,
    ids,
    steps: [
      call("SendMessage", say(text), {
        message: { task: { status: { state, timestamp: aTime } } },
        save: { taskId: "task.id", contextId: "task.contextId" },
      }),
      call("GetTask", { id: "{taskId}" }, { message: { status: { state, message } } }),
    ],
  };
}

const states: readonly Case[] = [
  comesBack("say All done.", "TASK_STATE_COMPLETED", "All done.", ["SRV-SEND-03", "SRV-CTX-14"]),
  comesBack("fail No luck.", "TASK_STATE_FAILED", "No luck.", ["SRV-SEND-03", "SRV-CTX-14"]),
  comesBack("reject Not here.", "TASK_STATE_REJECTED", "Not here.", ["SRV-SEND-03", "SRV-CTX-14"]),
  comesBack("ask Which one?", "TASK_STATE_INPUT_REQUIRED", "Which one?", ["SRV-SEND-03", "SRV-CTX-12", "SRV-CTX-14"]),
  comesBack("auth Sign in, please.", "TASK_STATE_AUTH_REQUIRED", "Sign in, please.", [
    "SRV-SEND-03",
    "SRV-INTA-01",
    "SRV-INTA-02",
    "SRV-INTA-03",
    "SRV-CTX-14",
  ]),
];

const blocking: readonly Case[] = [
  {
    name: "a task comes back complete, with ids that the server made",
    ids: [
      "SRV-SEND-01",
      "SRV-SEND-02",
      "SRV-SEND-03",
      "SRV-SEND-04",
      "SRV-SEND-12",
      "SRV-SEND-13",
      "SRV-CTX-01",
      "SRV-CTX-02",
      "SRV-HIST-07",
      "SRV-GEN-08",
      "SRV-GEN-09",
    ],
    steps: [
      call("SendMessage", say("echo hello"), {
        message: {
          message: absent,
          task: {
            id: anId,
            contextId: anId,
            status: { state: "TASK_STATE_COMPLETED", timestamp: aTime },
            artifacts: [{ artifactId: anId, name: "echo", parts: [{ text: "hello" }] }],
            history: [{ messageId: anId, role: "ROLE_USER", parts: [{ text: "echo hello" }] }],
          },
        },
        save: { first: "task.id", context: "task.contextId" },
      }),
      call("SendMessage", say("echo hello"), {
        message: { task: { id: all(anId, not("{first}")), contextId: all(anId, not("{context}")) } },
      }),
    ],
  },
  {
    name: "a blocking send comes back with the question of an agent that goes on at once",
    ids: ["SRV-SEND-03", "SRV-SEND-04"],
    steps: [
      call("SendMessage", say("askgo {run}"), {
        message: { task: { status: { state: "TASK_STATE_INPUT_REQUIRED" }, artifacts: absent } },
      }),
      reached("{run}"),
      release("{run}"),
    ],
  },
  {
    name: "a send blocks until the task is over, also when it says so",
    ids: ["SRV-SEND-03", "SRV-SEND-04"],
    steps: [{}, { configuration: { returnImmediately: false } }].flatMap((more, i): Step[] => [
      begin("send", "SendMessage", say(`wait {run}-${i}`, { contextId: `{run}-${i}` }, more)),
      reached(`{run}-${i}`),
      call("ListTasks", { contextId: `{run}-${i}` }, { message: { totalSize: 1, tasks: [{ artifacts: absent }] } }),
      release(`{run}-${i}`),
      {
        kind: "settle",
        name: "send",
        expect: {
          message: {
            task: { status: { state: "TASK_STATE_COMPLETED" }, artifacts: [{ parts: [{ text: "after the gate" }] }] },
          },
        },
      },
    ]),
  },
  {
    name: "a send that does not wait comes back while the task goes on",
    ids: ["SRV-SEND-05", "SRV-SEND-07", "SRV-GEN-15"],
    steps: [
      call("SendMessage", sayAndGo("wait {run}"), {
        message: { task: { id: anId, status: { state: like(/^TASK_STATE_(SUBMITTED|WORKING)$/) }, artifacts: absent } },
        save: { taskId: "task.id" },
      }),
      reached("{run}"),
      open("watch", "SubscribeToTask", { id: "{taskId}" }),
      read("watch", [{ task: { id: "{taskId}" } }]),
      release("{run}"),
      finish("watch", { last: { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } } }),
      call("GetTask", { id: "{taskId}" }, { message: { status: { state: "TASK_STATE_COMPLETED" } } }),
    ],
  },
  {
    name: "an agent that returns without a word has completed the task",
    ids: ["SRV-SEND-04"],
    steps: [
      call("SendMessage", say("quiet"), {
        message: { task: { status: { state: "TASK_STATE_COMPLETED", message: absent }, artifacts: absent } },
      }),
    ],
  },
  {
    name: "output is shaped by the accepted modes",
    ids: ["SRV-SEND-16"],
    steps: [
      call("SendMessage", say("shape", {}, { configuration: { acceptedOutputModes: ["application/json"] } }), {
        message: { task: { artifacts: [{ parts: [{ data: { answer: 42 } }] }] } },
      }),
      call("SendMessage", say("shape"), { message: { task: { artifacts: [{ parts: [{ text: "42" }] }] } } }),
    ],
  },
  {
    name: "the agent sees the message, the request's metadata and the output modes",
    ids: ["SRV-GEN-02", "SRV-JSON-13", "SRV-JSON-09"],
    steps: [
      call(
        "SendMessage",
        {
          message: {
            messageId: "{run}-m",
            contextId: "{run}-c",
            role: "ROLE_USER",
            parts: [
              { text: "turn" },
              { data: { deep: [1, { x: null }] }, mediaType: "application/json" },
              { data: null },
            ],
            metadata: { a: 1 },
          },
          configuration: { acceptedOutputModes: ["text/plain", "image/png"] },
          metadata: { "urn:example:trace": { list: [true, null, "x", 1.5] } },
        },
        {
          message: {
            task: {
              contextId: "{run}-c",
              artifacts: [
                {
                  parts: [
                    {
                      data: {
                        messageId: "{run}-m",
                        contextId: "{run}-c",
                        attempt: 1,
                        owner: "",
                        data: [{ deep: [1, { x: null }] }, null],
                        outputModes: ["text/plain", "image/png"],
                        metadata: { "urn:example:trace": { list: [true, null, "x", 1.5] } },
                      },
                    },
                  ],
                },
              ],
              history: [{ messageId: "{run}-m", metadata: { a: 1 } }],
            },
          },
        },
      ),
    ],
  },
  {
    name: "tasks that a message names are there for the agent, as far as they exist",
    ids: ["SRV-SEND-22"],
    steps: [
      done,
      call("SendMessage", say("references", { referenceTaskIds: ["{taskId}", "unknown"] }), {
        message: { task: { artifacts: [{ parts: [{ data: ["{taskId}"] }] }] } },
      }),
    ],
  },
  {
    name: "a blocking send has an end, the task has not",
    ids: ["SRV-GEN-15", "SRV-ERR-13"],
    setup: "narrow",
    steps: [
      call("SendMessage", say("silent {run}", { contextId: "{run}" }), { error: { reason: "DEADLINE_EXCEEDED" } }),
      call(
        "ListTasks",
        { contextId: "{run}" },
        {
          message: { tasks: [{ status: { state: "TASK_STATE_SUBMITTED" } }] },
          save: { taskId: "tasks[0].id" },
        },
      ),
      open("watch", "SubscribeToTask", { id: "{taskId}" }),
      read("watch", [{ task: present }]),
      release("{run}"),
      finish("watch", { events: [{ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } }] }),
    ],
  },
];

const afterTheEnd: readonly Case[] = Object.entries(ended).map(([state, steps]) => ({
  name: `a message to a task in ${state} is refused, also as a stream`,
  ids: ["SRV-SEND-09", "SRV-STRM-08", "SRV-ERR-01", "SRV-ERR-06", "SRV-GRPC-04"],
  steps: [
    ...steps,
    call("SendMessage", say("echo more", { taskId: "{taskId}" }), { error: { reason: "UNSUPPORTED_OPERATION" } }),
    open("stream", "SendStreamingMessage", say("echo more", { taskId: "{taskId}" })),
    finish("stream", { error: { reason: "UNSUPPORTED_OPERATION" } }),
    call("GetTask", { id: "{taskId}" }, { message: { status: { state }, history: not(absent) } }),
  ],
}));

const keyed: StepOptions = { headers: { "Idempotency-Key": "{run}" } };
const second = (): JsonObject => say("echo second", { taskId: "{taskId}", messageId: "{run}-2" });

const followUps: readonly Case[] = [
  {
    name: "a message to a task that asked goes on with it",
    ids: ["SRV-SEND-15", "SRV-CTX-09", "SRV-CTX-12", "SRV-HIST-04"],
    steps: [
      asked,
      call("SendMessage", say("echo blue", { taskId: "{taskId}" }), {
        message: {
          task: {
            id: "{taskId}",
            contextId: "{contextId}",
            status: { state: "TASK_STATE_COMPLETED" },
            artifacts: [{ parts: [{ text: "blue" }] }],
            history: [
              { role: "ROLE_USER", parts: [{ text: "ask Which one?" }] },
              { role: "ROLE_AGENT", parts: [{ text: "Which one?" }] },
              { role: "ROLE_USER", parts: [{ text: "echo blue" }] },
            ],
          },
        },
      }),
    ],
  },
  {
    name: "a task that waits for authorization takes messages",
    ids: ["SRV-INTA-07"],
    steps: [
      call("SendMessage", say("auth Sign in."), { save: { taskId: "task.id" } }),
      call("SendMessage", say("echo signed in", { taskId: "{taskId}" }), {
        message: { task: { id: "{taskId}", status: { state: "TASK_STATE_COMPLETED" } } },
      }),
    ],
  },
  {
    name: "a message to a task at work waits for its turn",
    ids: ["SRV-SEND-15"],
    steps: [
      call("SendMessage", sayAndGo("pause {run}"), { save: { taskId: "task.id" } }),
      reached("{run}"),
      call(
        "SendMessage",
        { ...sayAndGo("echo second", { taskId: "{taskId}" }) },
        {
          message: { task: { id: "{taskId}", status: { state: "TASK_STATE_WORKING" } } },
        },
      ),
      open("watch", "SubscribeToTask", { id: "{taskId}" }),
      read("watch", [{ task: { artifacts: absent } }]),
      release("{run}"),
      finish("watch", {
        events: [
          { artifactUpdate: { artifact: { name: "paused" } } },
          { artifactUpdate: { artifact: { name: "echo", parts: [{ text: "second" }] } } },
          { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } },
        ],
      }),
    ],
  },
  {
    name: "a call whose message waited for its turn is answered after that turn",
    ids: ["SRV-SEND-03", "SRV-SEND-15"],
    steps: [
      call("SendMessage", sayAndGo("askafter {run}"), { save: { taskId: "task.id" } }),
      reached("{run}"),
      begin("second", "SendMessage", second(), keyed),
      // The repeated send returns when the message has been stored.
      call("SendMessage", { ...second(), configuration: { returnImmediately: true } }, { message: present }, keyed),
      release("{run}"),
      settle("second", { message: { task: { status: { state: "TASK_STATE_COMPLETED" }, artifacts: [present] } } }),
    ],
  },
  {
    name: "a stream whose message waited for its turn lasts until that turn is over",
    ids: ["SRV-STRM-06", "SRV-SEND-15"],
    steps: [
      call("SendMessage", sayAndGo("askafter {run}"), { save: { taskId: "task.id" } }),
      reached("{run}"),
      open("second", "SendStreamingMessage", second()),
      read("second", [{ task: { history: having({ messageId: "{run}-2" }) } }]),
      release("{run}"),
      finish("second", { last: { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } } }),
    ],
  },
  {
    name: "no more messages wait than the server allows",
    ids: ["SRV-SEC-04", "SRV-ERR-13"],
    steps: [
      call("SendMessage", sayAndGo("pause {run}"), { save: { taskId: "task.id" } }),
      reached("{run}"),
      ...Array.from({ length: 64 }, () =>
        call("SendMessage", sayAndGo("echo second", { taskId: "{taskId}" }), { message: present }),
      ),
      call("SendMessage", sayAndGo("echo third", { taskId: "{taskId}" }), { error: { reason: "TOO_MANY_REQUESTS" } }),
      release("{run}"),
    ],
  },
  {
    name: "a message to no task is refused and creates none",
    ids: ["SRV-SEND-10", "SRV-SEND-11", "SRV-STRM-08"],
    steps: [
      call("SendMessage", say("echo hi", { taskId: "chosen-{run}", contextId: "{run}" }), {
        error: { reason: "TASK_NOT_FOUND", info: { taskId: "chosen-{run}" } },
      }),
      open("stream", "SendStreamingMessage", say("echo hi", { taskId: "chosen-{run}", contextId: "{run}" })),
      finish("stream", { error: { reason: "TASK_NOT_FOUND" } }),
      call("GetTask", { id: "chosen-{run}" }, { error: { reason: "TASK_NOT_FOUND" } }),
      call("ListTasks", { contextId: "{run}" }, { message: { tasks: absent } }),
    ],
  },
  {
    name: "the context of a task may be named, and has to be the right one",
    ids: ["SRV-CTX-10", "SRV-CTX-05", "SRV-CTX-04"],
    steps: [
      asked,
      call("SendMessage", say("echo hi", { taskId: "{taskId}", contextId: "other" }), {
        error: { reason: "INVALID_PARAMS", fields: ["message.contextId"] },
      }),
      call("SendMessage", say("echo hi", { taskId: "{taskId}", contextId: "{contextId}" }), {
        message: { task: { id: "{taskId}", status: { state: "TASK_STATE_COMPLETED" } } },
      }),
    ],
  },
  {
    name: "a context of the client's choice is kept, and a second task may join it",
    ids: ["SRV-CTX-03", "SRV-CTX-06", "SRV-CTX-11"],
    steps: [
      call("SendMessage", say("echo one", { contextId: "{run}" }), {
        message: { task: { contextId: "{run}" } },
        save: { first: "task.id" },
      }),
      call("SendMessage", say("echo two", { contextId: "{run}" }), {
        message: { task: { contextId: "{run}", id: not("{first}") } },
      }),
      call("ListTasks", { contextId: "{run}" }, { message: { totalSize: 2 } }),
    ],
  },
];

/** Sends that wait for the answer: states, blocking, follow-ups and contexts. */
export const sendCases: readonly Case[] = [...states, ...blocking, ...afterTheEnd, ...followUps];
