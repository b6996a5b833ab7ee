import { absent, anId, aTime, type Pattern, present } from "../../support/match.js";
import {
  type Case,
  call,
  finish,
  hangUp,
  open,
  reached,
  read,
  release,
  type Step,
  say,
  stream,
  tick,
} from "../case.js";
import { asked } from "./steps.js";

function status(state: string, words: Pattern = absent): Pattern {
  const message = words === absent ? absent : { role: "ROLE_AGENT", taskId: "{taskId}", parts: [{ text: words }] };
  return {
    statusUpdate: { taskId: "{taskId}", contextId: "{contextId}", status: { state, timestamp: aTime, message } },
  };
}

/** An event with a piece of an artifact. */
function piece(name: string, text: string, more: { readonly [name: string]: Pattern } = {}): Pattern {
  const artifact = { artifactId: anId, name, parts: [{ text }] };
  return {
    artifactUpdate: {
      taskId: "{taskId}",
      contextId: "{contextId}",
      append: absent,
      lastChunk: absent,
      artifact,
      ...more,
    },
  };
}

const completed = status("TASK_STATE_COMPLETED");

/** Opens a stream and reads its first message, the task. */
function begun(name: string, text: string): readonly Step[] {
  return [
    open(name, "SendStreamingMessage", say(text)),
    read(
      name,
      [{ task: { id: anId, contextId: anId, status: { state: "TASK_STATE_SUBMITTED" }, artifacts: absent } }],
      {
        taskId: "[0].task.id",
        contextId: "[0].task.contextId",
      },
    ),
  ];
}

const order: readonly Case[] = [
  {
    name: "a stream brings the task, then its events, then its end",
    ids: [
      "SRV-STRM-02",
      "SRV-STRM-04",
      "SRV-STRM-05",
      "SRV-STRM-06",
      "SRV-STRM-16",
      "SRV-STRM-17",
      "SRV-STRM-18",
      "SRV-GRPC-06",
      "SRV-GEN-09",
    ],
    steps: [
      open("a", "SendStreamingMessage", say("stream 3", { messageId: "{run}-m" })),
      read(
        "a",
        [
          {
            task: {
              id: anId,
              contextId: anId,
              status: { state: "TASK_STATE_SUBMITTED", timestamp: aTime },
              history: [{ messageId: "{run}-m", role: "ROLE_USER" }],
            },
          },
        ],
        { taskId: "[0].task.id", contextId: "[0].task.contextId" },
      ),
      finish("a", {
        events: [
          status("TASK_STATE_WORKING", "Begun."),
          piece("pieces", "piece 1"),
          piece("pieces", "piece 2", { append: true }),
          piece("pieces", "piece 3", { append: true, lastChunk: true }),
          status("TASK_STATE_COMPLETED", "Done."),
        ],
      }),
    ],
  },
  {
    name: "each event is its own, and nothing else is in it",
    ids: ["SRV-STRM-16", "SRV-STRM-19"],
    steps: stream("SendStreamingMessage", say("stream 1"), {
      events: [
        { task: present, message: absent, statusUpdate: absent, artifactUpdate: absent },
        { task: absent, message: absent, statusUpdate: present, artifactUpdate: absent },
        { task: absent, message: absent, statusUpdate: absent, artifactUpdate: present },
        { task: absent, message: absent, statusUpdate: { final: absent }, artifactUpdate: absent },
      ],
    }),
  },
  {
    name: "many events keep their order",
    ids: ["SRV-STRM-09", "SRV-STRM-10"],
    steps: [
      ...begun("a", "stream 300"),
      finish("a", {
        events: [
          status("TASK_STATE_WORKING", "Begun."),
          ...Array.from(
            { length: 300 },
            (_, i): Pattern => ({ artifactUpdate: { artifact: { parts: [{ text: `piece ${i + 1}` }] } } }),
          ),
          status("TASK_STATE_COMPLETED", "Done."),
        ],
      }),
    ],
  },
  {
    name: "progress in the same state is told each time",
    ids: ["SRV-STRM-07"],
    steps: [
      ...begun("a", "progress 3"),
      finish("a", {
        events: [
          status("TASK_STATE_WORKING", "Step 1."),
          status("TASK_STATE_WORKING", "Step 2."),
          status("TASK_STATE_WORKING", "Step 3."),
          completed,
        ],
      }),
    ],
  },
  {
    name: "events come as they happen",
    ids: ["SRV-STRM-02", "SRV-STRM-07"],
    steps: [
      ...begun("a", "half {run}"),
      read("a", [status("TASK_STATE_WORKING", "Begun."), piece("halves", "one")]),
      reached("{run}"),
      release("{run}"),
      finish("a", { events: [piece("halves", "two", { append: true, lastChunk: true }), completed] }),
    ],
  },
  {
    name: "a stream is not cut short by a client that does not want to wait",
    ids: ["SRV-SEND-06"],
    steps: stream("SendStreamingMessage", say("echo all", {}, { configuration: { returnImmediately: true } }), {
      events: [
        { task: present },
        { artifactUpdate: present },
        { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } },
      ],
    }),
  },
  {
    name: "the task that a stream begins with has as much history as is asked for",
    ids: ["SRV-HIST-02", "SRV-HIST-05", "SRV-SEND-19"],
    steps: stream("SendStreamingMessage", say("echo all", {}, { configuration: { historyLength: 0 } }), {
      events: [{ task: { history: absent } }, present, present],
    }),
  },
  {
    name: "the answer to a question can be streamed: the task, then what is new",
    ids: ["SRV-STRM-04", "SRV-CTX-12"],
    steps: [
      asked,
      open("a", "SendStreamingMessage", say("echo blue", { taskId: "{taskId}" })),
      finish("a", {
        events: [
          {
            task: {
              id: "{taskId}",
              contextId: "{contextId}",
              history: [{ role: "ROLE_USER" }, { role: "ROLE_AGENT" }, { role: "ROLE_USER" }],
            },
          },
          // The client has answered the question.
          { statusUpdate: { status: { state: "TASK_STATE_WORKING", message: absent } } },
          piece("echo", "blue"),
          completed,
        ],
      }),
    ],
  },
];

/** The stream of a failed task ends with the failure. */
const ends: readonly Case[] = [
  ["fail No luck.", [piece("half", "half of it"), status("TASK_STATE_FAILED", "No luck.")]],
  ["reject Not here.", [status("TASK_STATE_REJECTED", "Not here.")]],
  ["error Too hot.", [status("TASK_STATE_WORKING", "Trying."), status("TASK_STATE_FAILED", "Too hot.")]],
  ["talkative", [status("TASK_STATE_COMPLETED", "Done.")]],
  ["quiet", [completed]],
].map(([text, events]) => ({
  name: `a stream of "${text}" ends with the task`,
  ids: ["SRV-STRM-06"],
  steps: [...begun("a", text as string), finish("a", { events: events as Pattern[] })],
}));

const pauses: readonly Case[] = [
  {
    name: "a stream ends when the task waits for the client",
    ids: ["SRV-STRM-20"],
    steps: [
      ...begun("a", "ask Which one?"),
      finish("a", { events: [status("TASK_STATE_INPUT_REQUIRED", "Which one?")] }),
    ],
  },
  {
    name: "a stream stays open while an agent that asked goes on",
    ids: ["SRV-STRM-20"],
    steps: [
      ...begun("a", "askon {run}"),
      read("a", [status("TASK_STATE_INPUT_REQUIRED", "Which one?")]),
      reached("{run}"),
      release("{run}"),
      finish("a", { events: [status("TASK_STATE_WORKING", "Found out by myself."), completed] }),
    ],
  },
  {
    name: "a stream stays open while an agent waits for authorization from elsewhere",
    ids: ["SRV-INTA-02", "SRV-INTA-03", "SRV-INTA-05", "SRV-INTA-06", "SRV-STRM-20"],
    steps: [
      ...begun("a", "authwait {run}"),
      read("a", [
        status("TASK_STATE_WORKING", "Looking."),
        status("TASK_STATE_AUTH_REQUIRED", "Grant access to the calendar."),
      ]),
      reached("{run}"),
      release("{run}"),
      finish("a", {
        events: [status("TASK_STATE_WORKING", "Access was granted."), piece("calendar", "free"), completed],
      }),
    ],
  },
  {
    name: "a stream ends when an agent left for want of authorization",
    ids: ["SRV-STRM-20"],
    steps: [...begun("a", "auth Sign in."), finish("a", { events: [status("TASK_STATE_AUTH_REQUIRED", "Sign in.")] })],
  },
];

const several: readonly Case[] = [
  {
    name: "all streams of a task get the same events in the same order",
    ids: ["SRV-STRM-11", "SRV-STRM-12", "SRV-STRM-13", "SRV-SUB-10"],
    steps: [
      ...begun("a", "half {run}"),
      read("a", [status("TASK_STATE_WORKING", "Begun."), piece("halves", "one")]),
      open("b", "SubscribeToTask", { id: "{taskId}" }),
      open("c", "SubscribeToTask", { id: "{taskId}" }),
      read("b", [{ task: present }]),
      read("c", [{ task: present }]),
      release("{run}"),
      ...["c", "a", "b"].map((name) =>
        finish(name, { events: [piece("halves", "two", { append: true, lastChunk: true }), completed] }),
      ),
    ],
  },
  {
    name: "a client that leaves disturbs neither the task nor the other streams",
    ids: ["SRV-STRM-14", "SRV-GEN-16", "SRV-SUB-10"],
    steps: [
      ...begun("a", "half {run}"),
      read("a", [status("TASK_STATE_WORKING", "Begun."), piece("halves", "one")]),
      open("b", "SubscribeToTask", { id: "{taskId}" }),
      open("c", "SubscribeToTask", { id: "{taskId}" }),
      read("b", [{ task: present }]),
      read("c", [{ task: present }]),
      hangUp("a"),
      hangUp("b"),
      tick,
      release("{run}"),
      finish("c", { events: [piece("halves", "two", { append: true, lastChunk: true }), completed] }),
      call("GetTask", { id: "{taskId}" }, { message: { status: { state: "TASK_STATE_COMPLETED" } } }),
    ],
  },
];

/** Streams of a message's task: order, end, pauses, and several streams. */
export const streamCases: readonly Case[] = [...order, ...ends, ...pauses, ...several];
