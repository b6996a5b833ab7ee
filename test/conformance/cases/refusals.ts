import { absent, all, like, not, type Pattern, present } from "../../support/match.js";
import { type Case, call, type ErrorPattern, refused, type Step, say } from "../case.js";

/** Refusals of the picky agents: the text of the message, and the caller's error. */
const refusals: readonly (readonly [text: string, error: ErrorPattern])[] = [
  ["refuse content", { reason: "CONTENT_TYPE_NOT_SUPPORTED", info: { supported: "text/markdown" } }],
  ["refuse context", { reason: "INVALID_PARAMS", fields: ["message.contextId"] }],
  ["refuse caller", { reason: "PERMISSION_DENIED", message: like(/^Not for you\.$/) }],
  ["refuse quota", { reason: "TOO_MANY_REQUESTS" }],
];

const key = { headers: { "idempotency-key": "{run}" } };
const noLeak: Pattern = all(like(/Reference: \S+/), not(like(/hunter2|secret/)));
const setups = ["picky", "pickyMessenger", "pickyEither"] as const;

/** A refused message leaves no task, whether it is sent as a call or as a stream. */
function nothingLeft(text: string, error: ErrorPattern): readonly Step[] {
  return [
    ...["SendMessage", "SendStreamingMessage"].flatMap((rpc) => refused(rpc, say(text, { contextId: "{run}" }), error)),
    call("ListTasks", { contextId: "{run}" }, { message: { tasks: absent } }),
  ];
}

/** Agents that refuse a message before anything is stored. */
export const refusalCases: readonly Case[] = [
  ...setups.flatMap((setup) =>
    refusals.map(
      ([text, error]): Case => ({
        name: `${setup}: "${text}" reaches the caller as the agent's own error, and nothing is stored`,
        ids: ["SRV-CTX-04", "SRV-CTX-05", "SRV-ERR-06"],
        setup,
        steps: nothingLeft(text, error),
      }),
    ),
  ),
  {
    name: "an agent that breaks over a message tells no secrets, and nothing is stored",
    ids: ["SRV-SEC-06"],
    setup: "picky",
    steps: nothingLeft("refuse broken", { reason: "INTERNAL", message: noLeak }),
  },
  {
    name: "what is accepted goes on as ever, and a follow-up may be refused without harm to its task",
    ids: ["SRV-CTX-04"],
    setup: "picky",
    steps: [
      call("SendMessage", say("ask more?", { contextId: "{run}" }), {
        message: { task: { status: { state: "TASK_STATE_INPUT_REQUIRED" } } },
        save: { id: "task.id" },
      }),
      ...["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
        refused(rpc, say("refuse task", { taskId: "{id}" }), {
          reason: "PERMISSION_DENIED",
          info: { state: "INPUT_REQUIRED", messages: "1" },
        }),
      ),
      call(
        "GetTask",
        { id: "{id}" },
        { message: { status: { state: "TASK_STATE_INPUT_REQUIRED" }, history: [present] } },
      ),
      call("SendMessage", say("echo yes", { taskId: "{id}" }), {
        message: { task: { status: { state: "TASK_STATE_COMPLETED" } } },
      }),
      ...refused("SendMessage", say("refuse task", { taskId: "{id}" }), { reason: "UNSUPPORTED_OPERATION" }),
    ],
  },
  {
    name: "after its first event an agent speaks to the client through the task alone",
    ids: ["SRV-ERR-06"],
    setup: "pickyEither",
    steps: [
      call("SendMessage", say("late refuse caller"), {
        message: { task: { status: { state: "TASK_STATE_FAILED", message: { parts: [{ text: noLeak }] } } } },
      }),
    ],
  },
  {
    name: "a send that is repeated under its key is not looked at again",
    ids: [],
    setup: "picky",
    steps: [
      call(
        "SendMessage",
        say("once {run}", { messageId: "{run}" }),
        { message: { task: present }, save: { id: "task.id" } },
        key,
      ),
      call("SendMessage", say("once {run}", { messageId: "{run}" }), { message: { task: { id: "{id}" } } }, key),
      ...refused("SendMessage", say("once {run}"), { reason: "TOO_MANY_REQUESTS" }),
    ],
  },
];
