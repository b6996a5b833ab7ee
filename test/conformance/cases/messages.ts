import { absent, all, anId, exactly, like, not, type Pattern, present } from "../../support/match.js";
import { type Case, call, finish, open, reached, release, type Step, say, stream } from "../case.js";

/** A direct answer: a message of the agent in the conversation, without a task. */
function answer(text: string, contextId: Pattern = anId): Pattern {
  return {
    message: {
      messageId: anId,
      contextId,
      taskId: absent,
      role: "ROLE_AGENT",
      parts: [{ text: `You said: ${text}` }],
      metadata: { mood: "fine" },
    },
  };
}

const setup = "message";
const noLeak: Pattern = all(like(/Reference: \S+/), not(like(/hunter2|secret/)));

/** A request that fails in the same way as a call and as a stream. */
function both(
  text: string,
  error: { reason: "INVALID_AGENT_RESPONSE" | "INTERNAL"; message?: Pattern },
): readonly Step[] {
  return [call("SendMessage", say(text), { error }), ...stream("SendStreamingMessage", say(text), { error })];
}

const messenger: readonly Case[] = [
  {
    name: "a direct answer is a message and leaves no task",
    ids: ["SRV-SEND-01", "SRV-SEND-02", "SRV-CTX-01", "SRV-CTX-02", "SRV-CTX-14"],
    setup,
    steps: [
      call("SendMessage", say("hello"), {
        message: exactly(answer("hello") as { message: Pattern }),
        save: { contextId: "message.contextId" },
      }),
      call("ListTasks", { contextId: "{contextId}" }, { message: { tasks: absent } }),
    ],
  },
  {
    name: "a direct answer stays in the client's context",
    ids: ["SRV-CTX-03", "SRV-CTX-05"],
    setup,
    steps: [call("SendMessage", say("hello", { contextId: "{run}" }), { message: answer("hello", "{run}") })],
  },
  {
    name: "a client that does not want to wait gets the same direct answer",
    ids: ["SRV-SEND-06"],
    setup,
    steps: [
      call("SendMessage", say("hello", {}, { configuration: { returnImmediately: true, historyLength: 0 } }), {
        message: answer("hello"),
      }),
    ],
  },
  {
    name: "a stream of a direct answer is that message and nothing else",
    ids: ["SRV-STRM-03", "SRV-STRM-16"],
    setup,
    steps: stream("SendStreamingMessage", say("hello"), { events: [exactly(answer("hello") as { message: Pattern })] }),
  },
  {
    name: "a direct answer is waited for",
    ids: ["SRV-STRM-03"],
    setup,
    steps: [
      open("a", "SendStreamingMessage", say("wait {run}")),
      { kind: "begin", name: "b", rpc: "SendMessage", request: say("wait {run}") },
      reached("{run}"),
      release("{run}"),
      finish("a", { events: [answer("wait {run}")] }),
      { kind: "settle", name: "b", expect: { message: answer("wait {run}") } },
    ],
  },
  ...["nothing", "status", "empty"].map(
    (text): Case => ({
      name: `an agent that answers with ${text} where a message is due has failed`,
      ids: ["SRV-ERR-06", "SRV-ERR-17", "SRV-GEN-11"],
      setup,
      steps: both(text, { reason: "INVALID_AGENT_RESPONSE" }),
    }),
  ),
  {
    name: "an agent's own error is told",
    ids: ["SRV-ERR-02", "SRV-ERR-03"],
    setup,
    steps: both("error", { reason: "INTERNAL", message: "The oracle is silent today." }),
  },
  {
    name: "nothing but a reference is told of any other error",
    ids: ["SRV-ERR-18", "SRV-ERR-15"],
    setup,
    steps: both("crash", { reason: "INTERNAL", message: noLeak }),
  },
  {
    name: "there is no task to go on with",
    ids: ["SRV-SEND-10", "SRV-GET-02"],
    setup,
    steps: [
      call("SendMessage", say("hello", { taskId: "unknown" }), { error: { reason: "TASK_NOT_FOUND" } }),
      call("GetTask", { id: "unknown" }, { error: { reason: "TASK_NOT_FOUND" } }),
    ],
  },
];

const undecided: readonly Case[] = [
  {
    name: "the first event decides between a message and a task",
    ids: ["SRV-SEND-01", "SRV-SEND-02"],
    setup: "either",
    steps: [
      call("SendMessage", say("direct hit"), {
        message: { task: absent, message: { taskId: absent, parts: [{ text: "direct hit" }] } },
      }),
      call("SendMessage", say("echo hit"), {
        message: {
          message: absent,
          task: { status: { state: "TASK_STATE_COMPLETED" }, artifacts: [{ parts: [{ text: "hit" }] }] },
        },
      }),
    ],
  },
  {
    name: "the first event decides what a stream is",
    ids: ["SRV-STRM-03", "SRV-STRM-04"],
    setup: "either",
    steps: [
      ...stream("SendStreamingMessage", say("direct hit"), {
        events: [{ message: { parts: [{ text: "direct hit" }] } }],
      }),
      open("a", "SendStreamingMessage", say("echo hit")),
      finish("a", {
        events: [
          { task: { status: { state: "TASK_STATE_SUBMITTED" }, artifacts: absent } },
          { artifactUpdate: present },
          { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } },
        ],
      }),
    ],
  },
  {
    name: "a message to a task belongs to that task",
    ids: ["SRV-CTX-12"],
    setup: "either",
    steps: [
      call("SendMessage", say("ask Which one?"), { save: { taskId: "task.id" } }),
      call("SendMessage", say("direct hit", { taskId: "{taskId}" }), {
        message: { task: { id: "{taskId}", status: { state: "TASK_STATE_FAILED" } } },
      }),
    ],
  },
  {
    name: "an agent that fails before it decided has failed a task",
    ids: ["SRV-ERR-18"],
    setup: "either",
    steps: [
      call("SendMessage", say("crashfirst"), {
        message: { task: { status: { state: "TASK_STATE_FAILED", message: { parts: [{ text: noLeak }] } } } },
      }),
    ],
  },
];

/** Agents that always or sometimes answer with messages. */
export const messageCases: readonly Case[] = [...messenger, ...undecided];
