import type { Case } from "./case.js";
import { configSet, finishedIn01, heldIn01, heldOverRest, heldTask } from "./given.js";
import {
  answered,
  anyNumber,
  call,
  get,
  post,
  postRaw,
  refused,
  result,
  said01,
  sent,
  streamed,
  text,
} from "./shapes.js";

/** Examples of the older specifications, and the mistakes in those that were widely copied. */
const why = "Why did the chicken cross the road? To get to the other side!";

const v03 = { version: "0.3", binding: "JSONRPC" } as const;
const rest = { version: "0.3", binding: "HTTP+JSON" } as const;
const v02 = { version: "0.2", binding: "JSONRPC" } as const;
const v01 = { version: "0.1", binding: "JSONRPC" } as const;

const configured = {
  taskId: "${taskId}",
  pushNotificationConfig: { id: "$string", url: "${webhook}", authentication: { schemes: ["Bearer"] } },
};

const of03: readonly Case[] = [
  {
    ...v03,
    id: "text-03-send-task",
    name: "a joke as a task, with what was asked in its history",
    request: call("message/send", {
      message: { kind: "message", role: "user", messageId: "m1", parts: [text("tell me a joke")] },
      configuration: { blocking: true, acceptedOutputModes: ["text/plain"] },
      metadata: {},
    }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed", timestamp: "$iso8601" },
      artifacts: [{ artifactId: "$string", name: "joke", parts: [text(why)] }],
      history: {
        $includes: [
          {
            kind: "message",
            role: "user",
            messageId: "m1",
            taskId: "$string",
            contextId: "$string",
            parts: [text("tell me a joke")],
          },
        ],
      },
    }),
  },
  {
    ...v03,
    id: "text-03-send-message",
    name: "a message answered by a message",
    request: call(
      "message/send",
      { message: { kind: "message", role: "user", messageId: "m2", parts: [text("direct: hello")] } },
      { id: 2 },
    ),
    expect: result(
      { kind: "message", role: "agent", messageId: "$string", contextId: "$string", parts: [text("hello")] },
      2,
    ),
  },
  {
    ...v03,
    id: "text-03-get",
    name: "a task that is under way",
    given: [heldTask],
    request: call("tasks/get", { id: "${taskId}", historyLength: 2 }, { id: 3 }),
    expect: result(
      {
        kind: "task",
        id: "${taskId}",
        contextId: "${contextId}",
        status: { state: { $oneOf: ["submitted", "working"] } },
      },
      3,
    ),
  },
  {
    ...v03,
    id: "text-03-cancel",
    name: "a cancel",
    given: [heldTask],
    request: call("tasks/cancel", { id: "${taskId}" }, { id: 4 }),
    expect: result({ kind: "task", id: "${taskId}", contextId: "${contextId}", status: { state: "canceled" } }, 4),
  },
  {
    ...v03,
    id: "text-03-push-set",
    name: "a webhook with a scheme and no credentials",
    given: [heldTask],
    request: call(
      "tasks/pushNotificationConfig/set",
      {
        taskId: "${taskId}",
        pushNotificationConfig: { url: "${webhook}", token: "s3", authentication: { schemes: ["Bearer"] } },
      },
      { id: 5 },
    ),
    expect: result(configured, 5),
  },
  {
    ...v03,
    id: "text-03-push-get",
    name: "a webhook by its id",
    given: [heldTask, configSet],
    request: call("tasks/pushNotificationConfig/get", { id: "${taskId}", pushNotificationConfigId: "p1" }, { id: 6 }),
    expect: result({ taskId: "${taskId}", pushNotificationConfig: { id: "p1", url: "${webhook}" } }, 6),
  },
  {
    ...v03,
    id: "text-03-push-list",
    name: "the webhooks of a task",
    given: [heldTask, configSet],
    request: call("tasks/pushNotificationConfig/list", { id: "${taskId}" }, { id: 7 }),
    expect: result([{ taskId: "${taskId}", pushNotificationConfig: { id: "p1", url: "${webhook}" } }], 7),
  },
  {
    ...v03,
    id: "text-03-push-delete",
    name: "a webhook is taken away",
    given: [heldTask, configSet],
    request: call(
      "tasks/pushNotificationConfig/delete",
      { id: "${taskId}", pushNotificationConfigId: "p1" },
      { id: 8 },
    ),
    expect: result(null, 8),
  },
  {
    ...v03,
    id: "text-03-card",
    name: "the card for callers that are known",
    request: call("agent/getAuthenticatedExtendedCard", undefined, { id: 9 }),
    expect: result({ protocolVersion: "0.3.0", name: "$string", skills: "$array" }, 9),
  },
];

const overRest: readonly Case[] = [
  {
    ...rest,
    id: "text-03-rest-send",
    name: "a joke, waited for",
    request: post("${rest}/v1/message:send", {
      message: { messageId: "m1", role: "ROLE_USER", content: [{ text: "tell me a joke" }] },
      configuration: { blocking: true },
    }),
    expect: answered({
      task: {
        id: "$string",
        contextId: "$string",
        status: { state: "TASK_STATE_COMPLETED", timestamp: "$iso8601" },
        artifacts: [{ artifactId: "$string", name: "joke", parts: [{ text: why }] }],
      },
    }),
  },
  {
    ...rest,
    id: "text-03-rest-get",
    name: "a task with its newest message",
    given: [heldOverRest],
    request: get("${rest}/v1/tasks/${taskId}?historyLength=1"),
    expect: answered({
      id: "${taskId}",
      contextId: "$string",
      status: { state: { $matches: "SUBMITTED|WORKING" } },
      history: { $length: 1 },
    }),
  },
  {
    ...rest,
    id: "text-03-rest-cancel",
    name: "a cancel that names its task in the body",
    given: [heldOverRest],
    request: post("${rest}/v1/tasks/${taskId}:cancel", { name: "tasks/${taskId}" }),
    expect: answered({ id: "${taskId}", status: { state: "TASK_STATE_CANCELLED" } }),
  },
  {
    ...rest,
    id: "text-03-rest-push",
    name: "a webhook by the path with one letter less",
    given: [heldOverRest],
    request: post("${rest}/v1/task/${taskId}/pushNotificationConfigs", {
      config: { pushNotificationConfig: { id: "p1", url: "${webhook}" } },
    }),
    expect: answered(
      {
        name: "tasks/${taskId}/pushNotificationConfigs/p1",
        pushNotificationConfig: { id: "p1", url: "${webhook}" },
      },
      { $oneOf: [200, 201] },
    ),
  },
  {
    ...rest,
    id: "text-03-rest-push-other",
    name: "a webhook whose body names another task than the path",
    given: [heldOverRest],
    request: post("${rest}/v1/tasks/${taskId}/pushNotificationConfigs", {
      parent: "tasks/another",
      config: { pushNotificationConfig: { id: "p1", url: "${webhook}" } },
    }),
    expect: { status: 400, body: { code: -32602, message: "$string" } },
  },
];

const of01: readonly Case[] = [
  {
    ...v01,
    id: "text-01-send",
    name: "a joke; the server makes a session",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("tell me a joke"), metadata: {} }),
    expect: result({
      id: "${uuid:a}",
      sessionId: "$string",
      status: { state: "completed" },
      artifacts: [{ name: "joke", index: { $oneOf: [0, "$absent"] }, parts: [{ type: "text", text: why }] }],
    }),
  },
  {
    ...v01,
    id: "text-01-get",
    name: "a task with its history",
    given: [finishedIn01],
    request: call("tasks/get", { id: "${uuid:a}", historyLength: 10, metadata: {} }),
    expect: result({
      id: "${uuid:a}",
      sessionId: "$string",
      status: { state: "completed" },
      artifacts: [{ parts: [{ type: "text", text: "hello" }] }],
      history: { $includes: [{ role: "user", parts: [{ type: "text", text: "hello" }] }] },
    }),
  },
  {
    ...v01,
    id: "text-01-cancel",
    name: "a cancel",
    given: [heldIn01],
    request: call("tasks/cancel", { id: "${uuid:a}" }),
    expect: result({ id: "${uuid:a}", status: { state: "canceled" } }),
  },
  {
    ...v01,
    id: "text-01-push",
    name: "a webhook that wants signed posts",
    given: [heldIn01],
    request: call("tasks/pushNotification/set", {
      id: "${uuid:a}",
      pushNotificationConfig: { url: "${webhook}", authentication: { schemes: ["jwt"] } },
    }),
    expect: result({
      id: "${uuid:a}",
      pushNotificationConfig: { url: "${webhook}", authentication: { schemes: ["jwt"] } },
    }),
  },
];

const faults: readonly Case[] = [
  {
    ...v01,
    id: "fault-01-message-data",
    name: "parts under the name data",
    request: call("tasks/send", {
      id: "${uuid:a}",
      message: { role: "user", data: [{ type: "text", text: "hello" }] },
    }),
    expect: result({ artifacts: [{ name: "echo", parts: [{ type: "text", text: "hello" }] }] }),
  },
  {
    ...v01,
    id: "fault-01-bare",
    name: "neither jsonrpc nor id in a request for a stream",
    request: post("${rpc}", { method: "tasks/sendSubscribe", params: { id: "${uuid:a}", message: said01("hello") } }),
    expect: {
      status: 200,
      lastEvent: sent({ id: "${uuid:a}", status: { state: "completed" }, final: true }, null),
    },
  },
  ...[v03, v02].map(
    (of): Case => ({
      ...of,
      id: `fault-${of.version}-file-data`,
      name: "the bytes of a file under the name data",
      request: call("message/send", {
        message: {
          role: "user",
          messageId: "m-1",
          parts: [{ kind: "file", file: { mimeType: "image/png", data: "aVZCT1J3MEtHZ28=" } }],
        },
      }),
      expect: result({
        artifacts: [{ parts: [{ kind: "file", file: { mimeType: "image/png", bytes: "aVZCT1J3MEtHZ28=" } }] }],
      }),
    }),
  ),
  {
    ...v02,
    id: "fault-02-part-type",
    name: "parts with type",
    request: call("message/send", {
      message: { role: "user", messageId: "m-1", parts: [{ type: "text", text: "hello" }] },
    }),
    expect: result({ artifacts: [{ parts: [text("hello")] }] }),
  },
  {
    ...v02,
    id: "fault-02-message-id",
    name: "the id of the message beside it",
    request: call("message/send", { message: { role: "user", parts: [text("hello")] }, messageId: "m-beside" }),
    expect: result({ status: { state: "completed" }, history: [{ messageId: "m-beside" }] }),
  },
  {
    ...v02,
    id: "fault-02-bare",
    name: "neither jsonrpc nor id in a request for a stream",
    request: post("${rpc}", {
      method: "message/stream",
      params: { message: { role: "user", messageId: "m-1", parts: [text("hello")] } },
    }),
    expect: streamed([
      sent({ kind: "task" }, null),
      anyNumber(sent({ kind: "status-update", final: false }, null)),
      sent({ kind: "artifact-update" }, null),
      sent({ kind: "status-update", status: { state: "completed" }, final: true }, null),
    ]),
  },
  {
    ...v01,
    id: "fault-01-comment",
    name: "a comment in JSON",
    request: postRaw("${rpc}", '{"jsonrpc":"2.0","id":1,"method":"tasks/get", // the task\n"params":{"id":"x"}}'),
    expect: refused(-32700, { id: null, status: { $oneOf: [200, 400] } }),
  },
];

export const workedExamples: readonly Case[] = [...of03, ...overRest, ...of01, ...faults];
