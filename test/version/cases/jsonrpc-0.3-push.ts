import type { Case } from "./case.js";
import { configSet, heldTask } from "./given.js";
import { call, refused, result, text } from "./shapes.js";

/** Version 0.3 over JSON-RPC: push configurations. */
export const jsonRpcPush: readonly Case[] = [
  {
    id: "v03-jr-51",
    version: "0.3",
    binding: "JSONRPC",
    name: "push config set returns it with an id",
    given: [heldTask],
    request: call(
      "tasks/pushNotificationConfig/set",
      {
        taskId: "${taskId}",
        pushNotificationConfig: {
          url: "${webhook}",
          token: "secure-client-token-for-task-aaa",
          authentication: { schemes: ["Bearer"], credentials: "abc" },
        },
      },
      { id: 5 },
    ),
    expect: result(
      {
        taskId: "${taskId}",
        pushNotificationConfig: {
          id: "$string",
          url: "${webhook}",
          token: "secure-client-token-for-task-aaa",
          authentication: { schemes: ["Bearer"] },
        },
      },
      5,
    ),
  },
  {
    id: "v03-jr-52",
    version: "0.3",
    binding: "JSONRPC",
    name: "push config with two schemes keeps the first",
    given: [heldTask],
    request: call(
      "tasks/pushNotificationConfig/set",
      {
        taskId: "${taskId}",
        pushNotificationConfig: { url: "${webhook}", authentication: { schemes: ["Bearer", "Basic"] } },
      },
      { id: 5 },
    ),
    expect: result(
      {
        taskId: "${taskId}",
        pushNotificationConfig: { authentication: { schemes: { $oneOf: [["Bearer"], ["Bearer", "Basic"]] } } },
      },
      5,
    ),
  },
  {
    id: "v03-jr-53",
    version: "0.3",
    binding: "JSONRPC",
    name: "push config get by id",
    given: [heldTask, configSet],
    request: call("tasks/pushNotificationConfig/get", { id: "${taskId}", pushNotificationConfigId: "p1" }, { id: 6 }),
    expect: result({ taskId: "${taskId}", pushNotificationConfig: { id: "p1", url: "${webhook}" } }, 6),
  },
  {
    id: "v03-jr-54",
    version: "0.3",
    binding: "JSONRPC",
    name: "push config get without a config id",
    given: [heldTask, configSet],
    request: call("tasks/pushNotificationConfig/get", { id: "${taskId}" }, { id: 6 }),
    expect: result({ taskId: "${taskId}", pushNotificationConfig: { id: "p1" } }, 6),
  },
  {
    id: "v03-jr-55",
    version: "0.3",
    binding: "JSONRPC",
    name: "push config list is a bare array",
    given: [heldTask, configSet],
    request: call("tasks/pushNotificationConfig/list", { id: "${taskId}" }, { id: 7 }),
    expect: result([{ taskId: "${taskId}", pushNotificationConfig: { id: "p1", url: "${webhook}" } }], 7),
  },
  {
    id: "v03-jr-56",
    version: "0.3",
    binding: "JSONRPC",
    name: "push config delete answers null",
    given: [heldTask, configSet],
    request: call(
      "tasks/pushNotificationConfig/delete",
      { id: "${taskId}", pushNotificationConfigId: "p1" },
      { id: 8 },
    ),
    expect: result(null, 8),
  },
  {
    id: "v03-jr-57",
    version: "0.3",
    binding: "JSONRPC",
    name: "push config is gone after delete",
    given: [
      heldTask,
      configSet,
      {
        request: call(
          "tasks/pushNotificationConfig/delete",
          { id: "${taskId}", pushNotificationConfigId: "p1" },
          { id: 8 },
        ),
        expect: result(null, 8),
      },
    ],
    request: call("tasks/pushNotificationConfig/list", { id: "${taskId}" }, { id: 7 }),
    expect: result([], 7),
  },
  {
    id: "v03-jr-58",
    version: "0.3",
    binding: "JSONRPC",
    name: "push without the capability",
    server: { pushNotifications: false },
    request: call("tasks/pushNotificationConfig/set", {
      taskId: "any",
      pushNotificationConfig: { url: "https://client.example.com/hook" },
    }),
    expect: refused(-32003),
  },
  {
    id: "v03-jr-59",
    version: "0.3",
    binding: "JSONRPC",
    name: "push config for an unknown task",
    request: call("tasks/pushNotificationConfig/set", {
      taskId: "no-such-task",
      pushNotificationConfig: { url: "${webhook}" },
    }),
    expect: refused(-32001),
  },
  {
    id: "v03-jr-60",
    version: "0.3",
    binding: "JSONRPC",
    name: "push config without url",
    given: [heldTask],
    request: call("tasks/pushNotificationConfig/set", { taskId: "${taskId}", pushNotificationConfig: {} }, { id: 5 }),
    expect: refused(-32602, { id: 5 }),
  },
  {
    id: "v03-jr-61",
    version: "0.3",
    binding: "JSONRPC",
    name: "push: report finished, the bare task is posted",
    request: call(
      "message/send",
      {
        message: {
          kind: "message",
          role: "user",
          messageId: "6dbc13b5-bd57-4c2b-b503-24e381b6c8d6",
          parts: [text("Generate the Q1 sales report. This usually takes a while. Notify me when it's ready.")],
        },
        configuration: {
          blocking: false,
          pushNotificationConfig: {
            url: "${webhook}",
            token: "secure-client-token-for-task-aaa",
            authentication: { schemes: ["Bearer"], credentials: "abc" },
          },
        },
      },
      { id: "req-005" },
    ),
    expect: {
      ...result(
        { kind: "task", id: "$string", contextId: "$string", status: { state: { $oneOf: ["submitted", "working"] } } },
        "req-005",
      ),
      webhook: {
        eventually: {
          method: "POST",
          headers: {
            "content-type": { $startsWith: "application/json" },
            "x-a2a-notification-token": "secure-client-token-for-task-aaa",
            authorization: "Bearer abc",
          },
          body: {
            kind: "task",
            id: "$string",
            contextId: "$string",
            status: { state: "completed" },
            jsonrpc: "$absent",
            task: "$absent",
          },
        },
      },
    },
  },
];
