import type { JsonObject } from "@bufbuild/protobuf";
import { absent, type Pattern } from "../../support/match.js";
import { type Case, call, type Step, type StepOptions, say } from "../case.js";

const inContext = { contextId: "{run}" };

/** Sends a message, and expects a task that ended or asks, or a direct answer. */
function said(text: string, more: JsonObject = inContext, options?: StepOptions): Step {
  return call("SendMessage", say(text, more), { message: {} }, options);
}

/** Checks the conversation that the agent reads. */
function heard(talk: readonly Pattern[], options?: StepOptions): Step {
  const artifacts = [{ name: "talk", parts: [{ data: [...talk, "> talk"] }] }];
  return call("SendMessage", say("talk", inContext), { message: { task: { artifacts } } }, options);
}

const as = (owner: string): StepOptions => ({ headers: { Authorization: `Bearer ${owner}` } });

/** Agents read their conversation and keep state in it. */
export const conversationCases: readonly Case[] = [
  {
    name: "an agent reads what was said in all tasks of the context, as its clients saw it",
    ids: ["SRV-CTX-06", "SRV-CTX-14"],
    steps: [
      call("SendMessage", say("ask Which one?", inContext), { message: {}, save: { taskId: "task.id" } }),
      said("echo hello"),
      { kind: "tick" },
      said("say Blue.", { taskId: "{taskId}" }),
      { kind: "tick" },
      said("stream 2"),
      { kind: "tick" },
      heard([
        "> ask Which one?",
        "< Which one? (INPUT_REQUIRED)",
        "> echo hello",
        "< hello",
        "> say Blue.",
        "< Blue. (COMPLETED)",
        "> stream 2",
        "< piece 1piece 2",
        "< Done. (COMPLETED)",
      ]),
    ],
  },
  {
    name: "a conversation is of one caller, whoever names its context",
    ids: ["SRV-CTX-15"],
    setup: "owners",
    steps: [
      said("say secret", inContext, as("alice")),
      heard([], as("bob")),
      said("say mine", inContext, as("bob")),
      heard(["> say secret", "< secret (COMPLETED)"], as("alice")),
    ],
  },
  {
    name: "direct answers that an agent remembers are messages, and completed tasks of its conversation",
    ids: ["SRV-CTX-06", "SRV-SEND-02"],
    setup: "remembering",
    steps: [
      ...["one", "two"].map((text, index) =>
        call("SendMessage", say(text, inContext), {
          message: {
            task: absent,
            message: { taskId: absent, contextId: "{run}", parts: [{ text: `${index + 1} after ${2 * index}` }] },
          },
        }),
      ),
      call("ListTasks", inContext, {
        message: {
          totalSize: 2,
          tasks: [
            { status: { state: "TASK_STATE_COMPLETED", message: { parts: [{ text: "2 after 2" }] } } },
            { status: { state: "TASK_STATE_COMPLETED", message: { parts: [{ text: "1 after 0" }] } } },
          ],
        },
      }),
    ],
  },
  {
    name: "a stream of a remembered answer is that message and nothing else",
    ids: ["SRV-STRM-03"],
    setup: "remembering",
    steps: [
      { kind: "open", name: "s", rpc: "SendStreamingMessage", request: say("one", inContext) },
      {
        kind: "finish",
        name: "s",
        events: [{ task: absent, message: { taskId: absent, parts: [{ text: "1 after 0" }] } }],
      },
      call("ListTasks", inContext, { message: { totalSize: 1 } }),
    ],
  },
];
