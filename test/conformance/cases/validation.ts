import type { JsonObject } from "@bufbuild/protobuf";
import { absent, like, present } from "../../support/match.js";
import { begin, type Case, call, finish, open, reached, read, refused, release, say, settle, stream } from "../case.js";

const hook = "https://hooks.example/a";
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "echo hi" }] };

/** Requests that both ways of sending refuse, with the invalid fields. */
const sends: readonly (readonly [name: string, request: JsonObject, fields: readonly string[]])[] = [
  ["nothing at all", {}, ["message"]],
  ["an empty message", { message: {} }, ["message.messageId", "message.role", "message.parts"]],
  ["a message without an id", { message: { ...message, messageId: "" } }, ["message.messageId"]],
  ["a message without a role", { message: { ...message, role: "ROLE_UNSPECIFIED" } }, ["message.role"]],
  ["a message in the agent's name", { message: { ...message, role: "ROLE_AGENT" } }, ["message.role"]],
  ["a message without parts", { message: { ...message, parts: [] } }, ["message.parts"]],
  ["a part without content", { message: { ...message, parts: [{}] } }, ["message.parts[0]"]],
  [
    "parts without content among others",
    { message: { ...message, parts: [{}, { text: "" }, { filename: "x" }, { data: null }] } },
    ["message.parts[0]", "message.parts[2]"],
  ],
  [
    "everything wrong at once",
    {
      message: { role: "ROLE_AGENT", parts: [{ text: "a" }, {}] },
      configuration: { historyLength: -5, taskPushNotificationConfig: { authentication: {} } },
    },
    [
      "message.messageId",
      "message.role",
      "message.parts[1]",
      "configuration.historyLength",
      "configuration.taskPushNotificationConfig.url",
      "configuration.taskPushNotificationConfig.authentication.scheme",
    ],
  ],
];

const noPath = "a path cannot be made without the value";

/** Other requests, with the invalid fields. */
const others: readonly (readonly [rpc: string, request: JsonObject, fields: readonly string[], path?: true])[] = [
  ["GetTask", {}, ["id"], true],
  ["GetTask", { historyLength: -1 }, ["id", "historyLength"], true],
  ["CancelTask", {}, ["id"], true],
  ["SubscribeToTask", {}, ["id"], true],
  ["CreateTaskPushNotificationConfig", { taskId: "t" }, ["url"]],
  [
    "CreateTaskPushNotificationConfig",
    { taskId: "t", url: hook, authentication: { credentials: "x" } },
    ["authentication.scheme"],
  ],
  ["GetTaskPushNotificationConfig", {}, ["taskId", "id"], true],
  ["DeleteTaskPushNotificationConfig", {}, ["taskId", "id"], true],
  ["ListTaskPushNotificationConfigs", {}, ["taskId"], true],
  ["ListTaskPushNotificationConfigs", { taskId: "t", pageSize: -1 }, ["pageSize"]],
];

const megabyte = "0123456789abcdeü".repeat(65_536);

const long = "x".repeat(257);
const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `urn:${i}`);
const texts = (count: number): { text: string }[] => Array.from({ length: count }, () => ({ text: "echo hi" }));

/** Requests that exceed the limits of a server with narrow ones. */
const narrow: readonly (readonly [rpc: string, request: JsonObject, fields: readonly string[]])[] = [
  [
    "SendMessage",
    { message: { ...message, messageId: long, contextId: long, taskId: long } },
    ["message.messageId", "message.contextId", "message.taskId"],
  ],
  ["SendMessage", { message: { ...message, parts: texts(3) } }, ["message.parts"]],
  [
    "SendMessage",
    { message: { ...message, referenceTaskIds: ["a", long, ...many(99)] } },
    ["message.referenceTaskIds", "message.referenceTaskIds[1]"],
  ],
  ["SendMessage", { message: { ...message, extensions: many(33) } }, ["message.extensions"]],
  ["GetTask", { id: long }, ["id"]],
  ["CancelTask", { id: long }, ["id"]],
  ["SubscribeToTask", { id: long }, ["id"]],
  ["ListTasks", { contextId: long }, ["contextId"]],
];

/** Invalid requests. The error names every violation with its path. */
export const validationCases: readonly Case[] = [
  ...sends.map(
    ([name, request, fields]): Case => ({
      name: `sending ${name} is refused`,
      ids: [
        "SRV-SEND-20",
        "SRV-SEND-21",
        "SRV-SEND-23",
        "SRV-GEN-10",
        "SRV-GEN-11",
        "SRV-ERR-09",
        "SRV-ERR-10",
        "SRV-GRPC-05",
        "SRV-PCFG-07",
        "SRV-SEC-06",
      ],
      steps: ["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
        refused(rpc, request, { reason: "INVALID_PARAMS", fields }),
      ),
    }),
  ),
  ...others.map(
    ([rpc, request, fields, path]): Case => ({
      name: `${rpc} of ${JSON.stringify(request)} is refused`,
      ids: ["SRV-GEN-10", "SRV-ERR-05", "SRV-ERR-09", "SRV-ERR-10", ...(fields.includes("url") ? ["SRV-PCFG-07"] : [])],
      steps: refused(rpc, request, { reason: "INVALID_PARAMS", fields }),
      ...(path === undefined ? {} : { except: { rest: noPath } }),
    }),
  ),
  ...narrow.map(
    ([rpc, request, fields], i): Case => ({
      name: `${rpc} with more than the server takes is refused (${i + 1})`,
      ids: ["SRV-SEC-04", "SRV-ERR-10"],
      setup: "narrow",
      steps: refused(rpc, request, { reason: "INVALID_PARAMS", fields }),
    }),
  ),
  {
    name: "the words of the error name what is wrong",
    ids: ["SRV-ERR-02", "SRV-ERR-03", "SRV-ERR-10"],
    steps: [
      call(
        "SendMessage",
        { message: { ...message, parts: [] } },
        {
          error: { reason: "INVALID_PARAMS", message: like(/message\.parts.*at least one/) },
        },
      ),
    ],
  },
  {
    name: "what was refused has left nothing behind",
    ids: ["SRV-ERR-09", "SRV-SEC-06"],
    steps: [
      call(
        "SendMessage",
        { message: { ...message, contextId: "{run}", parts: [] } },
        { error: { reason: "INVALID_PARAMS" } },
      ),
      call("ListTasks", { contextId: "{run}" }, { message: { tasks: absent } }),
    ],
  },
  {
    name: "a request of more bytes than the server takes is refused, and the connection goes on",
    ids: ["SRV-SEC-04"],
    setup: "narrow",
    steps: [
      call("SendMessage", say(`echo ${"x".repeat(128 * 1024)}`), {
        error: { reason: "REQUEST_TOO_LARGE", info: { limit: "maxRequestBytes" } },
      }),
      call("SendMessage", say("echo hi"), { message: present }, { timeoutMs: 2_000 }),
    ],
  },
  {
    name: "no more streams are open than the server allows",
    ids: ["SRV-SEC-04", "SRV-ERR-13"],
    setup: "crowded",
    steps: [
      open("first", "SendStreamingMessage", say("wait {run}")),
      read("first", [{ task: present }]),
      ...refused("SendStreamingMessage", say("quiet"), { reason: "TOO_MANY_REQUESTS" }),
      call("SendMessage", say("quiet"), { message: present }),
      reached("{run}"),
      release("{run}"),
      finish("first", { last: { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } } }),
      ...stream("SendStreamingMessage", say("quiet"), { events: [present, present] }),
    ],
  },
  {
    name: "no more calls are under way than the server allows",
    ids: ["SRV-SEC-04", "SRV-ERR-13"],
    setup: "crowded",
    steps: [
      begin("first", "SendMessage", say("wait {run}")),
      reached("{run}"),
      call("ListTasks", {}, { error: { reason: "TOO_MANY_REQUESTS" } }),
      release("{run}"),
      settle("first", { message: present }),
      call("ListTasks", {}, { message: present }),
    ],
  },
  {
    name: "a text of a megabyte arrives whole, there and back",
    ids: ["SRV-GEN-02"],
    steps: [
      call("SendMessage", say(`echo ${megabyte}`), {
        message: { task: { artifacts: [{ parts: [{ text: megabyte }] }] } },
      }),
    ],
  },
  {
    name: "a message of many parts is taken as it is",
    ids: ["SRV-GEN-02"],
    steps: [
      call("SendMessage", say("", { parts: [{ text: "quiet" }, ...texts(900)] }), {
        message: { task: { history: [{ parts: present }] } },
      }),
    ],
  },
];
