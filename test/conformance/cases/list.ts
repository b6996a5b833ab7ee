import { absent, anId, each, items, like, type Pattern, present, savedJson } from "../../support/match.js";
import { type Case, call, type Step, say, tick } from "../case.js";
import { asked, done } from "./steps.js";

/** Creates tasks in the context of the case. Saves them as `t1`, `t2`, … in their order. */
function tasks(texts: readonly string[]): readonly Step[] {
  return texts.flatMap((text, i) => [
    call("SendMessage", say(text, { contextId: "{run}" }), {
      message: { task: present },
      save: { [`t${i + 1}`]: "task.id", [`time${i + 1}`]: "task.status.timestamp" },
    }),
    tick,
  ]);
}

const echoes = (count: number): readonly Step[] => tasks(Array.from({ length: count }, (_, i) => `echo ${i}`));
const ids = (...names: string[]): Pattern => names.map((name) => ({ id: `{${name}}` }));
const here = { contextId: "{run}" };
const binaryZero = "protobuf has no 0 that is different from none to many clients (AIP-158)";
const writtenZero = "JSON has a number only where somebody wrote it";

const pages: readonly Case[] = [
  {
    name: "newest status first, page by page, to the last",
    ids: ["SRV-LIST-02", "SRV-LIST-03", "SRV-LIST-05", "SRV-LIST-06", "SRV-LIST-15"],
    steps: [
      ...echoes(5),
      call(
        "ListTasks",
        { ...here, pageSize: 2 },
        {
          message: { tasks: ids("t5", "t4"), nextPageToken: anId, pageSize: 2, totalSize: 5 },
          save: { token: "nextPageToken" },
        },
      ),
      call(
        "ListTasks",
        { ...here, pageSize: 2, pageToken: "{token}" },
        {
          message: { tasks: ids("t3", "t2"), nextPageToken: anId, pageSize: 2, totalSize: 5 },
          save: { token: "nextPageToken" },
        },
      ),
      call(
        "ListTasks",
        { ...here, pageSize: 2, pageToken: "{token}" },
        {
          message: { tasks: ids("t1"), nextPageToken: absent, pageSize: 2, totalSize: 5 },
        },
      ),
    ],
  },
  {
    name: "a page that is just full is the last one",
    ids: ["SRV-LIST-06"],
    steps: [
      ...echoes(2),
      call("ListTasks", { ...here, pageSize: 2 }, { message: { tasks: ids("t2", "t1"), nextPageToken: absent } }),
    ],
  },
  {
    name: "the order is that of the status, not of the making",
    ids: ["SRV-LIST-03"],
    steps: [
      ...tasks(["ask One?", "echo two"]),
      call("SendMessage", say("echo answer", { taskId: "{t1}" }), { message: present }),
      call("ListTasks", here, { message: { tasks: ids("t1", "t2") } }),
    ],
  },
  {
    name: "tasks that come between do not disturb the pages",
    ids: ["SRV-LIST-04"],
    steps: [
      ...echoes(3),
      call(
        "ListTasks",
        { ...here, pageSize: 2 },
        { message: { tasks: ids("t3", "t2") }, save: { token: "nextPageToken" } },
      ),
      call("SendMessage", say("echo new", here), { message: present }),
      call(
        "ListTasks",
        { ...here, pageSize: 2, pageToken: "{token}" },
        { message: { tasks: ids("t1"), totalSize: 4 } },
      ),
    ],
  },
  {
    name: "a page has fifty tasks unless another size is asked for",
    ids: ["SRV-LIST-12", "SRV-GEN-12"],
    steps: [
      ...Array.from({ length: 51 }, (): Step => call("SendMessage", say("quiet", here), { message: present })),
      call("ListTasks", here, { message: { tasks: items(50), pageSize: 50, totalSize: 51, nextPageToken: anId } }),
      call(
        "ListTasks",
        { ...here, pageSize: 100 },
        { message: { tasks: items(51), pageSize: 100, nextPageToken: absent } },
      ),
    ],
  },
  {
    name: "nothing to be found is a page too",
    ids: ["SRV-LIST-15", "SRV-GEN-09"],
    steps: [
      call("ListTasks", here, { message: { tasks: absent, nextPageToken: absent, totalSize: absent, pageSize: 50 } }),
    ],
  },
  {
    name: "a token serves the list it was made for and no other",
    ids: ["SRV-LIST-13", "SRV-LIST-18"],
    steps: [
      ...echoes(2),
      call("ListTasks", { ...here, pageSize: 1 }, { save: { token: "nextPageToken" } }),
      ...[
        {},
        { contextId: "other" },
        { ...here, status: "TASK_STATE_COMPLETED" },
        { ...here, statusTimestampAfter: "2020-01-01T00:00:00Z" },
      ].map(
        (filter): Step =>
          call(
            "ListTasks",
            { ...filter, pageToken: "{token}" },
            { error: { reason: "INVALID_PARAMS", fields: ["pageToken"] } },
          ),
      ),
      call("ListTasks", { ...here, pageToken: "{token}" }, { message: { tasks: ids("t1"), pageSize: 50 } }),
    ],
  },
  {
    name: "what is no token is refused",
    ids: ["SRV-LIST-13"],
    steps: ["x", "bm8gdG9rZW4", "%%%", "{run}"].map(
      (pageToken): Step =>
        call("ListTasks", { pageToken }, { error: { reason: "INVALID_PARAMS", fields: ["pageToken"] } }),
    ),
  },
  {
    name: "a page is of one to a hundred tasks",
    ids: ["SRV-LIST-12", "SRV-LIST-13"],
    steps: [
      ...[-1, 101, 2147483647].map(
        (pageSize): Step =>
          call("ListTasks", { pageSize }, { error: { reason: "INVALID_PARAMS", fields: ["pageSize"] } }),
      ),
      call("ListTasks", { ...here, pageSize: 1 }, { message: { pageSize: 1 } }),
      call("ListTasks", { ...here, pageSize: 100 }, { message: { pageSize: 100 } }),
    ],
  },
];

const filters: readonly Case[] = [
  {
    name: "a context and a state narrow the list, together too",
    ids: ["SRV-LIST-09", "SRV-LIST-10", "SRV-LIST-17"],
    steps: [
      ...tasks(["ask One?", "echo two", "fail No."]),
      done,
      call(
        "ListTasks",
        { ...here, status: "TASK_STATE_INPUT_REQUIRED" },
        { message: { tasks: ids("t1"), totalSize: 1 } },
      ),
      call("ListTasks", { ...here, status: "TASK_STATE_FAILED" }, { message: { tasks: ids("t3"), totalSize: 1 } }),
      call("ListTasks", { ...here, status: "TASK_STATE_WORKING" }, { message: { tasks: absent, totalSize: absent } }),
      call(
        "ListTasks",
        { ...here, status: "TASK_STATE_UNSPECIFIED" },
        { message: { tasks: ids("t3", "t2", "t1"), totalSize: 3 } },
      ),
      call(
        "ListTasks",
        { status: "TASK_STATE_FAILED", pageSize: 100 },
        {
          message: { tasks: each({ status: { state: "TASK_STATE_FAILED" } }) },
        },
      ),
    ],
  },
  {
    name: "the state is the one that a task has now",
    ids: ["SRV-LIST-10"],
    steps: [
      asked,
      call(
        "ListTasks",
        { contextId: "{contextId}", status: "TASK_STATE_INPUT_REQUIRED" },
        { message: { totalSize: 1 } },
      ),
      call("SendMessage", say("echo blue", { taskId: "{taskId}" }), { message: present }),
      call(
        "ListTasks",
        { contextId: "{contextId}", status: "TASK_STATE_INPUT_REQUIRED" },
        { message: { totalSize: absent } },
      ),
      call("ListTasks", { contextId: "{contextId}", status: "TASK_STATE_COMPLETED" }, { message: { totalSize: 1 } }),
    ],
  },
  {
    name: "a time keeps what is of that time or later",
    ids: ["SRV-LIST-11", "SRV-TIME-05"],
    steps: [
      ...echoes(3),
      call(
        "ListTasks",
        { ...here, statusTimestampAfter: "{time2}" },
        { message: { tasks: ids("t3", "t2"), totalSize: 2 } },
      ),
      call("GetTask", { id: "{t2}" }, { save: { later: ["status.timestamp", (time) => withNanos(time, "000001")] } }),
      call("ListTasks", { ...here, statusTimestampAfter: "{later}" }, { message: { tasks: ids("t3"), totalSize: 1 } }),
      call("ListTasks", { ...here, statusTimestampAfter: "1970-01-01T00:00:00Z" }, { message: { totalSize: 3 } }),
      call(
        "ListTasks",
        { ...here, statusTimestampAfter: "9999-12-31T23:59:59.999999999Z" },
        { message: { totalSize: absent } },
      ),
    ],
  },
  {
    name: "what is wrong with a filter is told all at once",
    ids: ["SRV-LIST-13", "SRV-ERR-10"],
    steps: [
      call(
        "ListTasks",
        { pageSize: 101, historyLength: -1, status: 99 },
        {
          error: { reason: "INVALID_PARAMS", fields: ["pageSize", "historyLength", "status"] },
        },
      ),
    ],
  },
  {
    name: "a page size of 0 in JSON was written by somebody",
    ids: ["SRV-LIST-12", "SRV-LIST-13"],
    except: { grpc: binaryZero, "grpc-http": binaryZero, "grpc-web": binaryZero },
    steps: [call("ListTasks", { ...here, pageSize: 0 }, { error: { reason: "INVALID_PARAMS", fields: ["pageSize"] } })],
  },
  {
    name: "a page size of 0 in protobuf is none",
    ids: ["SRV-LIST-12"],
    except: { jsonrpc: writtenZero, rest: writtenZero, connect: writtenZero },
    steps: [
      ...echoes(2),
      call("ListTasks", { ...here, pageSize: 0 }, { message: { tasks: items(2), pageSize: 50, totalSize: 2 } }),
    ],
  },
];

/** A time in whole milliseconds with six further digits. */
function withNanos(time: string, digits: string): string {
  const [, whole = "", fraction = "000"] = /^(.*?)(?:\.(\d{3}))?Z$/.exec(time) ?? [];
  return `${whole}.${fraction}${digits}Z`;
}

const contents: readonly Case[] = [
  {
    name: "artifacts are listed when they are asked for and not otherwise",
    ids: ["SRV-LIST-07", "SRV-LIST-08"],
    steps: [
      ...tasks(["echo one"]),
      call("ListTasks", here, { message: { tasks: [{ artifacts: absent }] } }),
      call("ListTasks", { ...here, includeArtifacts: false }, { message: { tasks: [{ artifacts: absent }] } }),
      call(
        "ListTasks",
        { ...here, includeArtifacts: true },
        {
          message: { tasks: [{ artifacts: [{ name: "echo", parts: [{ text: "one" }] }] }] },
        },
      ),
    ],
  },
  {
    name: "a listed task is the task as GetTask has it",
    ids: ["SRV-LIST-08", "SRV-GEN-04", "SRV-GEN-14"],
    steps: [
      ...tasks(["stream 2"]),
      call(
        "GetTask",
        { id: "{t1}" },
        { message: { id: "{t1}", status: { timestamp: like(/Z$/) } }, save: { task: "" } },
      ),
      call("ListTasks", { ...here, includeArtifacts: true }, { message: { tasks: [savedJson("task")] } }),
      call("GetTask", { id: "{t1}" }, { message: savedJson("task") }),
      call("ListTasks", { ...here, includeArtifacts: true }, { message: { tasks: [savedJson("task")] } }),
    ],
  },
  {
    name: "a task that nobody knows is not found",
    ids: ["SRV-GET-02", "SRV-ERR-06", "SRV-ERR-11"],
    steps: [
      call("GetTask", { id: "unknown" }, { error: { reason: "TASK_NOT_FOUND", info: { taskId: "unknown" } } }),
      call("GetTask", { id: "a/b ?%:ü" }, { error: { reason: "TASK_NOT_FOUND", info: { taskId: "a/b ?%:ü" } } }),
    ],
  },
];

/** Reading tasks: lists, their pages and filters, and single tasks. */
export const listCases: readonly Case[] = [...pages, ...filters, ...contents];
