import { absent, all, exactly, having, items, not, type Pattern, present } from "../../support/match.js";
import {
  type Case,
  call,
  everyOperation,
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
} from "../case.js";

const setup = "owners";

/** Options of a call with a token. */
const as = (token: string): StepOptions => ({ headers: { Authorization: `Bearer ${token}` } });
const alice = as("alice");
const bob = as("bob");

/** A task of Alice that waits for her. Its id is saved as `taskId`. */
const ofAlice: Step = call(
  "SendMessage",
  say("ask Which one?", { contextId: "{run}" }),
  { message: { task: present }, save: { taskId: "task.id" } },
  alice,
);

/** Every operation on a task by its id. */
const aboutTask: readonly (readonly [rpc: string, request: (id: string) => Parameters<typeof refused>[1]])[] = [
  ["GetTask", (id) => ({ id })],
  ["CancelTask", (id) => ({ id })],
  ["SubscribeToTask", (id) => ({ id })],
  ["SendMessage", (id) => say("echo mine", { taskId: id })],
  ["SendStreamingMessage", (id) => say("echo mine", { taskId: id })],
];

const notFound = "Task not found: it does not exist or is not accessible.";

/** The server answers for another owner's task as for one that does not exist. */
export const ownerCases: readonly Case[] = [
  {
    name: "no operation is for callers without valid credentials",
    ids: [
      "SRV-AUTH-01",
      "SRV-AUTH-02",
      "SRV-AUTH-03",
      "SRV-AUTH-04",
      "SRV-AUTH-08",
      "SRV-AUTH-10",
      "SRV-AUTH-13",
      "SRV-GEN-06",
    ],
    setup,
    steps: everyOperation.flatMap(([rpc, request]) =>
      [
        {},
        as("mallory"),
        { headers: { Authorization: "Basic YWxpY2U6eA==" } },
        { headers: { Authorization: "" } },
      ].flatMap((options) => refused(rpc, request, { reason: "UNAUTHENTICATED" }, options)),
    ),
  },
  {
    name: "who is refused is told how to be let in",
    ids: ["SRV-AUTH-03"],
    setup,
    steps: [
      call(
        "ListTasks",
        {},
        { error: { reason: "UNAUTHENTICATED" }, headers: { "www-authenticate": 'Bearer realm="tests"' } },
      ),
      open("a", "SubscribeToTask", { id: "x" }),
      finish("a", { error: { reason: "UNAUTHENTICATED" }, headers: { "www-authenticate": 'Bearer realm="tests"' } }),
    ],
  },
  ...aboutTask.map(
    ([rpc, request]): Case => ({
      name: `${rpc} answers for somebody else's task as for none`,
      ids: [
        "SRV-GET-03",
        "SRV-CANC-06",
        "SRV-SUB-08",
        "SRV-SEND-10",
        "SRV-AUTH-07",
        "SRV-AUTH-08",
        "SRV-ERR-11",
        "SRV-ERR-12",
        "SRV-SEC-09",
      ],
      setup,
      steps: [
        ofAlice,
        ...refused(
          rpc,
          request("{taskId}"),
          { reason: "TASK_NOT_FOUND", message: notFound, info: exactly({ taskId: "{taskId}" }) },
          bob,
        ),
        ...refused(
          rpc,
          request("unknown"),
          { reason: "TASK_NOT_FOUND", message: notFound, info: exactly({ taskId: "unknown" }) },
          bob,
        ),
        call(
          "GetTask",
          { id: "{taskId}" },
          { message: { status: { state: "TASK_STATE_INPUT_REQUIRED" }, history: items(1) } },
          alice,
        ),
      ],
    }),
  ),
  {
    name: "not even a task that is over, or at work, is there for somebody else",
    ids: ["SRV-AUTH-07", "SRV-AUTH-10", "SRV-ERR-12"],
    setup,
    steps: [
      call("SendMessage", say("echo done"), { save: { over: "task.id" } }, alice),
      call("SendMessage", sayAndGo("wait {run}"), { save: { running: "task.id" } }, alice),
      reached("{run}"),
      ...["{over}", "{running}"].flatMap((id) =>
        aboutTask.flatMap(([rpc, request]) =>
          refused(rpc, request(id), { reason: "TASK_NOT_FOUND", message: notFound }, bob),
        ),
      ),
      release("{run}"),
    ],
  },
  {
    name: "a list has the caller's own tasks and counts no others, with filters and without",
    ids: ["SRV-LIST-01", "SRV-LIST-17", "SRV-AUTH-09"],
    setup,
    steps: [
      ofAlice,
      call("SendMessage", say("echo mine", { contextId: "{run}" }), { save: { mine: "task.id" } }, bob),
      call("ListTasks", { contextId: "{run}" }, { message: { totalSize: 1, tasks: [{ id: "{mine}" }] } }, bob),
      call("ListTasks", { contextId: "{run}" }, { message: { totalSize: 1, tasks: [{ id: "{taskId}" }] } }, alice),
      call(
        "ListTasks",
        { pageSize: 100 },
        { message: { tasks: all(having({ id: "{mine}" }), not(having({ id: "{taskId}" }))) } },
        bob,
      ),
      call(
        "ListTasks",
        { status: "TASK_STATE_INPUT_REQUIRED", pageSize: 100 },
        { message: { tasks: absent, totalSize: absent } },
        bob,
      ),
    ],
  },
  {
    name: "a page token of somebody else's is none",
    ids: ["SRV-LIST-18"],
    setup,
    steps: [
      ofAlice,
      ofAlice,
      call("ListTasks", { contextId: "{run}", pageSize: 1 }, { save: { token: "nextPageToken" } }, alice),
      call(
        "ListTasks",
        { contextId: "{run}", pageToken: "{token}" },
        { error: { reason: "INVALID_PARAMS", fields: ["pageToken"] } },
        bob,
      ),
    ],
  },
  {
    name: "knowing a context gives no access to what others did in it",
    ids: ["SRV-CTX-15", "SRV-SEND-22", "SRV-SEC-09"],
    setup,
    steps: [
      ofAlice,
      call(
        "SendMessage",
        say("history", { contextId: "{run}" }),
        { message: { task: { contextId: "{run}", history: items(1), artifacts: [{ parts: [{ data: [] }] }] } } },
        bob,
      ),
      call(
        "SendMessage",
        say("references", { contextId: "{run}", referenceTaskIds: ["{taskId}"] }),
        { message: { task: { artifacts: [{ parts: [{ data: [] }] }] } } },
        bob,
      ),
      call(
        "SendMessage",
        say("references", { contextId: "{run}", referenceTaskIds: ["{taskId}"] }),
        { message: { task: { artifacts: [{ parts: [{ data: ["{taskId}"] }] }] } } },
        alice,
      ),
    ],
  },
  {
    name: "the agent is told who calls, and never the credentials",
    ids: ["SRV-AUTH-13", "SRV-SEC-10", "SRV-AUTH-11"],
    setup,
    steps: [
      call(
        "SendMessage",
        say("turn"),
        { message: { task: { artifacts: [{ parts: [{ data: ownerOf("alice") }] }] } } },
        as("alice:read"),
      ),
    ],
  },
  {
    name: "streams of one caller's tasks are not for others, while they run",
    ids: ["SRV-SUB-08", "SRV-AUTH-08"],
    setup,
    steps: [
      open("a", "SendStreamingMessage", say("half {run}"), alice),
      read("a", [{ task: present }, { statusUpdate: present }, { artifactUpdate: present }], { taskId: "[0].task.id" }),
      ...refused("SubscribeToTask", { id: "{taskId}" }, { reason: "TASK_NOT_FOUND" }, bob),
      open("b", "SubscribeToTask", { id: "{taskId}" }, alice),
      read("b", [{ task: present }]),
      release("{run}"),
      finish("b", { events: [{ artifactUpdate: present }, { statusUpdate: present }] }),
    ],
  },
];

function ownerOf(owner: string): Pattern {
  return { owner, metadata: exactly({}) };
}
