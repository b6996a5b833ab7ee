import type { JsonObject } from "@bufbuild/protobuf";
import { absent, not, present } from "../../support/match.js";
import { begin, type Case, call, finish, open, reached, read, release, type StepOptions, settle } from "../case.js";

const key: StepOptions = { headers: { "Idempotency-Key": "{run}" } };
const keyed = (owner: string): StepOptions => ({
  headers: { "Idempotency-Key": "{run}", Authorization: `Bearer ${owner}` },
});

/** A message whose repetition is equal. */
function same(text: string, message: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return {
    message: { messageId: "{run}-m", contextId: "{run}", role: "ROLE_USER", parts: [{ text }], ...message },
    ...more,
  };
}

const ids = ["SRV-SEND-14"];
const uri = "urn:parley:ext:idempotency:v1";

/** Sends that are repeated under a key. */
export const idempotencyCases: readonly Case[] = [
  {
    name: "a key counts whether the extension is asked for or not, and who asks is told that it is there",
    ids,
    steps: [
      call("SendMessage", same("echo hi"), { message: { task: present }, save: { taskId: "task.id" } }, key),
      call(
        "SendMessage",
        same("echo hi"),
        { message: { task: { id: "{taskId}" } }, headers: { "a2a-extensions": uri } },
        { headers: { ...key.headers, "A2A-Extensions": uri } },
      ),
    ],
  },
  {
    name: "the same send under the same key is the same task",
    ids,
    steps: [
      call("SendMessage", same("echo hi"), { message: { task: present }, save: { taskId: "task.id" } }, key),
      call(
        "SendMessage",
        same("echo hi"),
        { message: { task: { id: "{taskId}", status: { state: "TASK_STATE_COMPLETED" }, history: [present] } } },
        key,
      ),
      call("ListTasks", { contextId: "{run}" }, { message: { totalSize: 1 } }),
    ],
  },
  {
    name: "without a key the same send is another task",
    ids,
    steps: [
      call("SendMessage", same("echo hi"), { save: { taskId: "task.id" } }),
      call("SendMessage", same("echo hi"), { message: { task: { id: not("{taskId}") } } }),
    ],
  },
  {
    name: "another send under the same key is refused",
    ids,
    steps: [
      call("SendMessage", same("echo hi"), { message: { task: present } }, key),
      call("SendMessage", same("echo ho"), { error: { reason: "IDEMPOTENCY_KEY_REUSED" } }, key),
      call("ListTasks", { contextId: "{run}" }, { message: { totalSize: 1 } }),
    ],
  },
  {
    name: "a retry may ask to be answered in another way",
    ids,
    steps: [
      call("SendMessage", same("echo hi"), { message: { task: present }, save: { taskId: "task.id" } }, key),
      call(
        "SendMessage",
        same("echo hi", {}, { configuration: { returnImmediately: true, historyLength: 0 } }),
        {
          message: { task: { id: "{taskId}", history: absent } },
        },
        key,
      ),
      open("a", "SendStreamingMessage", same("echo hi"), key),
      finish("a", {
        events: [{ task: { id: "{taskId}", status: { state: "TASK_STATE_COMPLETED" }, artifacts: [present] } }],
      }),
    ],
  },
  {
    name: "a retry waits for what the first try waits for",
    ids,
    steps: [
      begin("first", "SendMessage", same("wait {run}"), key),
      reached("{run}"),
      begin("second", "SendMessage", same("wait {run}"), key),
      open("third", "SendStreamingMessage", same("wait {run}"), key),
      read("third", [{ task: { artifacts: absent } }], { taskId: "[0].task.id" }),
      release("{run}"),
      settle("first", { message: { task: { id: "{taskId}", status: { state: "TASK_STATE_COMPLETED" } } } }),
      settle("second", { message: { task: { id: "{taskId}", status: { state: "TASK_STATE_COMPLETED" } } } }),
      finish("third", { last: { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } } }),
    ],
  },
  {
    name: "tries that come at once are one task",
    ids,
    steps: [
      ...["a", "b", "c", "d"].map((name) => begin(name, "SendMessage", same("echo hi"), key)),
      settle("a", { message: { task: present }, save: { taskId: "task.id" } }),
      ...["b", "c", "d"].map((name) => settle(name, { message: { task: { id: "{taskId}" } } })),
      call("ListTasks", { contextId: "{run}" }, { message: { totalSize: 1 } }),
    ],
  },
  {
    name: "an answer to a question is taken once",
    ids,
    steps: [
      call("SendMessage", same("ask Which one?"), { save: { taskId: "task.id" } }),
      call("SendMessage", same("ask Sure?", { messageId: "{run}-n", taskId: "{taskId}" }), { message: present }, key),
      call(
        "SendMessage",
        same("ask Sure?", { messageId: "{run}-n", taskId: "{taskId}" }),
        {
          message: { task: { history: [present, present, { messageId: "{run}-n" }] } },
        },
        key,
      ),
    ],
  },
  {
    name: "keys of different owners have nothing to do with each other",
    ids: [...ids, "SRV-AUTH-09"],
    setup: "owners",
    steps: [
      call("SendMessage", same("echo hi"), { save: { taskId: "task.id" } }, keyed("alice")),
      call("SendMessage", same("echo hi"), { message: { task: { id: not("{taskId}") } } }, keyed("bob")),
      call("SendMessage", same("echo ho"), { error: { reason: "IDEMPOTENCY_KEY_REUSED" } }, keyed("bob")),
    ],
  },
  {
    name: "a key is of one character or more, and not endless",
    ids: [...ids, "SRV-SEC-04"],
    steps: ["", "k".repeat(257)].map((value) =>
      call(
        "SendMessage",
        { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "echo hi" }] } },
        { error: { reason: "INVALID_PARAMS", fields: ["Idempotency-Key"] } },
        { headers: { "Idempotency-Key": value } },
      ),
    ),
  },
  {
    name: "a server may take the id of a message for its key",
    ids,
    setup: "messageIds",
    steps: [
      call("SendMessage", same("echo hi"), { save: { taskId: "task.id" } }),
      call("SendMessage", same("echo hi"), { message: { task: { id: "{taskId}" } } }),
      call("SendMessage", same("echo ho"), { error: { reason: "IDEMPOTENCY_KEY_REUSED" } }),
    ],
  },
];
