import { absent, atLeast, type Pattern, present } from "../../support/match.js";
import {
  begin,
  type Case,
  call,
  finish,
  open,
  reached,
  read,
  refused,
  release,
  type Step,
  type StepOptions,
  say,
  sayAndGo,
  settle,
  stream,
} from "../case.js";
import { done } from "./steps.js";

const uri = "urn:parley:ext:resume:v1";

/** Options that activate the extension, with its service parameters. */
function resume(parameters: Readonly<Record<string, string>> = {}): StepOptions {
  return { headers: { "A2A-Extensions": uri, ...parameters } };
}

const after = (generation: number | string, more: Readonly<Record<string, string>> = {}): StepOptions =>
  resume({ "Parley-After-Generation": String(generation), ...more });

/** Metadata that carry a generation. */
const at = (generation: number): { metadata: Pattern } => ({ metadata: { [uri]: { generation } } });

const working: Pattern = { status: { state: "TASK_STATE_WORKING" } };
const completed: Pattern = { status: { state: "TASK_STATE_COMPLETED" } };

/**
 * Opens a task's stream up to the middle: created (1), working (2), the first half of an artifact (3). The second half
 * (4) and the end (5) follow later.
 */
const half: readonly Step[] = halfOf("half");

function halfOf(command: string): readonly Step[] {
  const seen = [{ task: present }, { statusUpdate: present }, { artifactUpdate: present }];
  return [
    open("first", "SendStreamingMessage", say(`${command} {run}`)),
    read("first", seen, { taskId: "[0].task.id" }),
  ];
}

const rest: readonly Pattern[] = [
  { artifactUpdate: { append: true, artifact: { parts: [{ text: "two" }] }, ...at(4) } },
  { statusUpdate: { ...(completed as object), ...at(5) } },
];

/** The first message of a resumed stream: the task's id and generation, without content that the reader already has. */
const resumed = (generation: number): Pattern => ({
  task: { id: "{taskId}", artifacts: absent, history: absent, ...at(generation) },
});

const marks: readonly Case[] = [
  {
    name: "tasks and events carry their generation when the extension is in force",
    ids: ["SRV-EXT-08", "SRV-EXT-09", "SRV-EXT-10"],
    steps: [
      open("a", "SendStreamingMessage", say("stream 2"), resume()),
      read("a", [{ task: at(1) }], { taskId: "[0].task.id" }),
      finish("a", {
        events: [
          { statusUpdate: at(2) },
          { artifactUpdate: at(3) },
          { artifactUpdate: at(4) },
          { statusUpdate: at(5) },
        ],
        headers: { "a2a-extensions": uri },
      }),
      call("GetTask", { id: "{taskId}" }, { message: at(5), headers: { "a2a-extensions": uri } }, resume()),
      call("GetTask", { id: "{taskId}" }, { message: { metadata: absent }, headers: { "a2a-extensions": absent } }),
    ],
  },
  {
    name: "the generation counts what happened to the task, not the messages to it",
    ids: ["SRV-EXT-08"],
    steps: [
      call(
        "SendMessage",
        say("ask One?", { contextId: "{run}" }),
        { message: { task: at(2) }, save: { taskId: "task.id" } },
        resume(),
      ),
      call("SendMessage", say("ask Two?", { taskId: "{taskId}" }), { message: { task: at(3) } }, resume()),
      call("ListTasks", { contextId: "{run}" }, { message: { tasks: [at(3)] } }, resume()),
      call("CancelTask", { id: "{taskId}" }, { message: at(4) }, resume()),
    ],
  },
];

const streams: readonly Case[] = [
  ...[1, 2, 3].map(
    (seen): Case => ({
      name: `a reader that has seen generation ${seen} gets exactly what came after`,
      ids: ["SRV-SUB-05", "SRV-EXT-11"],
      steps: [
        ...half,
        open("a", "SubscribeToTask", { id: "{taskId}" }, after(seen)),
        read("a", [resumed(seen), ...missed(seen, 3)]),
        release("{run}"),
        finish("a", { events: rest }),
      ],
    }),
  ),
  {
    name: "Last-Event-ID resumes too, without the extension",
    ids: ["SRV-SUB-05"],
    steps: [
      ...half,
      open("a", "SubscribeToTask", { id: "{taskId}" }, { headers: { "Last-Event-ID": "2" } }),
      read("a", [
        { task: { id: "{taskId}", artifacts: absent, history: absent, metadata: absent } },
        { artifactUpdate: { metadata: absent } },
      ]),
      release("{run}"),
      finish("a", { events: [{ artifactUpdate: present }, { statusUpdate: completed }] }),
    ],
  },
  {
    name: "a reader that missed the end gets it, and whoever has seen it all is told so",
    ids: ["SRV-SUB-02", "SRV-SUB-06"],
    steps: [
      call("SendMessage", say("stream 2"), { save: { taskId: "task.id" } }),
      ...stream(
        "SubscribeToTask",
        { id: "{taskId}" },
        {
          events: [
            resumed(3),
            { artifactUpdate: { artifact: { parts: [{ text: "piece 2" }] }, ...at(4) } },
            { statusUpdate: at(5) },
          ],
        },
        after(3),
      ),
      ...refused("SubscribeToTask", { id: "{taskId}" }, { reason: "UNSUPPORTED_OPERATION" }, after(5)),
      ...refused("SubscribeToTask", { id: "{taskId}" }, { reason: "UNSUPPORTED_OPERATION" }, resume()),
    ],
  },
  {
    name: "a generation that the task never had is refused",
    ids: ["SRV-EXT-11"],
    steps: [
      ...half,
      ...["0", "4", "99"].flatMap((generation) =>
        refused(
          "SubscribeToTask",
          { id: "{taskId}" },
          { reason: "INVALID_PARAMS", fields: ["parley-after-generation"] },
          after(generation),
        ),
      ),
      ...["-1", "x", "1.5", "", "12345678901"].flatMap((generation) =>
        refused(
          "SubscribeToTask",
          { id: "{taskId}" },
          { reason: "INVALID_PARAMS", fields: ["parley-after-generation"] },
          after(generation),
        ),
      ),
      ...refused(
        "SubscribeToTask",
        { id: "{taskId}" },
        { reason: "INVALID_PARAMS", fields: ["Last-Event-ID"] },
        { headers: { "Last-Event-ID": "x" } },
      ),
      ...refused(
        "SubscribeToTask",
        { id: "{taskId}" },
        { reason: "INVALID_PARAMS", fields: ["Last-Event-ID"] },
        { headers: { "Last-Event-ID": "99" } },
      ),
      release("{run}"),
    ],
  },
  {
    name: "a parameter of the extension needs the extension",
    ids: ["SRV-EXT-10", "SRV-EXT-11"],
    steps: [
      done,
      ...refused(
        "SubscribeToTask",
        { id: "{taskId}" },
        { reason: "INVALID_PARAMS", fields: ["parley-after-generation"] },
        {
          headers: { "Parley-After-Generation": "1" },
        },
      ),
      call(
        "GetTask",
        { id: "{taskId}" },
        { error: { reason: "INVALID_PARAMS", fields: ["parley-after-generation"] } },
        {
          headers: { "Parley-After-Generation": "1" },
        },
      ),
      call(
        "SendMessage",
        say("echo hi"),
        { error: { reason: "INVALID_PARAMS", fields: ["parley-if-generation"] } },
        {
          headers: { "Parley-If-Generation": "1" },
        },
      ),
    ],
  },
];

/** The events between two generations of the half-finished task. */
function missed(seen: number, now: number): readonly Pattern[] {
  const events: Record<number, Pattern> = {
    2: { statusUpdate: { ...(working as object), ...at(2) } },
    3: { artifactUpdate: { artifact: { parts: [{ text: "one" }] }, ...at(3) } },
  };
  return Object.entries(events).flatMap(([generation, event]) =>
    Number(generation) > seen && Number(generation) <= now ? [event] : [],
  );
}

const polls: readonly Case[] = [
  {
    name: "a read waits until the task has moved on",
    ids: ["SRV-GET-01"],
    steps: [
      ...half,
      begin("poll", "GetTask", { id: "{taskId}" }, after(3)),
      call("GetTask", { id: "{taskId}" }, { message: { ...(working as object), ...at(3) } }, resume()),
      release("{run}"),
      settle("poll", { message: { metadata: { [uri]: { generation: atLeast(4) } } } }),
    ],
  },
  {
    name: "a read does not wait for what has happened, nor for a task that is over",
    ids: ["SRV-GET-01"],
    steps: [
      ...half,
      call("GetTask", { id: "{taskId}" }, { message: { ...(working as object), ...at(3) } }, after(2)),
      call("GetTask", { id: "{taskId}" }, { message: at(3) }, after(3, { "Parley-Wait": "0" })),
      release("{run}"),
      finish("first", { events: [present, present] }),
      call("GetTask", { id: "{taskId}" }, { message: { ...(completed as object), ...at(5) } }, after(5)),
      call("GetTask", { id: "unknown" }, { error: { reason: "TASK_NOT_FOUND" } }, after(1)),
      call(
        "GetTask",
        { id: "{taskId}" },
        { error: { reason: "INVALID_PARAMS", fields: ["parley-wait"] } },
        after(1, { "Parley-Wait": "soon" }),
      ),
      call(
        "GetTask",
        { id: "{taskId}" },
        { error: { reason: "INVALID_PARAMS", fields: ["parley-wait"] } },
        resume({ "Parley-Wait": "1" }),
      ),
    ],
  },
];

const expected: readonly Case[] = [
  {
    name: "a send that expects a generation is refused at any other",
    ids: ["SRV-ERR-13"],
    steps: [
      call("SendMessage", say("ask One?"), { message: { task: at(2) }, save: { taskId: "task.id" } }, resume()),
      ...["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
        refused(
          rpc,
          say("echo blue", { taskId: "{taskId}" }),
          { reason: "GENERATION_MISMATCH", info: { generation: "2" } },
          expecting(1),
        ),
      ),
      call("GetTask", { id: "{taskId}" }, { message: { history: [present], ...at(2) } }, resume()),
      call("SendMessage", say("echo blue", { taskId: "{taskId}" }), { message: { task: completed } }, expecting(2)),
    ],
  },
  {
    name: "of two answers that expect the same generation one is taken",
    ids: [],
    steps: [
      call("SendMessage", say("ask One?"), { save: { taskId: "task.id" } }, resume()),
      call("SendMessage", sayAndGo("pause {run}", { taskId: "{taskId}" }), { message: present }, expecting(2)),
      reached("{run}"),
      call(
        "SendMessage",
        say("echo red", { taskId: "{taskId}" }),
        { error: { reason: "GENERATION_MISMATCH", info: { generation: "3" } } },
        expecting(2),
      ),
      release("{run}"),
    ],
  },
  {
    name: "a new task has no generation to expect",
    ids: ["SRV-EXT-11"],
    steps: ["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
      refused(rpc, say("echo hi"), { reason: "INVALID_PARAMS", fields: ["message.taskId"] }, expecting(1)),
    ),
  },
];

function expecting(generation: number): StepOptions {
  return resume({ "Parley-If-Generation": String(generation) });
}

/** The extension for exact resume: marks, resumed streams, reads that wait, and sends that expect a generation. */
/** Log entries that clients never see, such as those of `turn.step`. */
const unseen: readonly Case[] = [
  ...[1, 2, 3].map(
    (seen): Case => ({
      name: `a reader that has seen generation ${seen} of an agent with steps gets exactly what came after, and no step`,
      ids: ["SRV-SUB-05", "SRV-EXT-11"],
      steps: [
        ...halfOf("unseen"),
        open("a", "SubscribeToTask", { id: "{taskId}" }, after(seen)),
        read("a", [resumed(seen), ...missed(seen, 3)]),
        release("{run}"),
        finish("a", { events: rest }),
        finish("first", { events: [{ artifactUpdate: present }, { statusUpdate: completed }] }),
      ],
    }),
  ),
  {
    name: "the generation and the task show no step",
    ids: ["SRV-EXT-08", "SRV-GET-01"],
    steps: [
      ...halfOf("unseen"),
      begin("poll", "GetTask", { id: "{taskId}" }, after(3)),
      call("GetTask", { id: "{taskId}" }, { message: at(3) }, resume()),
      release("{run}"),
      settle("poll", { message: { metadata: { [uri]: { generation: atLeast(4) } } } }),
      finish("first", { events: [present, present] }),
      call(
        "GetTask",
        { id: "{taskId}" },
        {
          message: {
            ...(completed as object),
            history: [present, present],
            artifacts: [{ parts: [{ text: "one" }, { text: "two" }] }],
            ...at(5),
          },
        },
        resume(),
      ),
    ],
  },
  {
    name: "a send that expects a generation does not fail because of a step",
    ids: ["SRV-EXT-08"],
    steps: [
      call(
        "SendMessage",
        say("considered One?", { contextId: "{run}" }),
        { message: { task: at(2) }, save: { taskId: "task.id" } },
        resume(),
      ),
      call("SendMessage", say("considered Two?", { taskId: "{taskId}" }), { message: { task: at(3) } }, expecting(2)),
      call("ListTasks", { contextId: "{run}" }, { message: { tasks: [at(3)] } }, resume()),
    ],
  },
];

export const resumeCases: readonly Case[] = [...marks, ...streams, ...polls, ...expected, ...unseen];
