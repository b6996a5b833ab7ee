import type { Case } from "./case.js";
import { configSet, heldTask } from "./given.js";
import { call, eventStream, post, result, said, sent, sentError, text } from "./shapes.js";

/** Version 0.2, where it differs from 0.3. */
export const jsonRpc02: readonly Case[] = [
  {
    id: "v02-jr-01",
    version: "0.2",
    binding: "JSONRPC",
    name: "joke of the 0.2 text",
    request: call("message/send", {
      message: { role: "user", parts: [text("tell me a joke")], messageId: "9229e770-767c-417b-a0b0-f0741243c589" },
      metadata: {},
    }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [
        {
          artifactId: "$string",
          name: "joke",
          parts: [text("Why did the chicken cross the road? To get to the other side!")],
        },
      ],
    }),
  },
  {
    id: "v02-jr-02",
    version: "0.2",
    binding: "JSONRPC",
    name: "flight request as printed, messageId beside the message",
    request: call(
      "message/send",
      {
        message: { role: "user", parts: [text("I'd like to book a flight.")] },
        messageId: "c53ba666-3f97-433c-a87b-6084276babe2",
      },
      { id: "req-003" },
    ),
    expect: {
      status: 200,
      anyOf: [
        {
          body: sent(
            { kind: "task", id: "$string", contextId: "$string", status: { state: "input-required" } },
            "req-003",
          ),
        },
        { body: sentError(-32602, "req-003") },
      ],
    },
  },
  {
    id: "v02-jr-03",
    version: "0.2",
    binding: "JSONRPC",
    name: "configuration with the required output modes",
    request: call("message/send", {
      message: said("hello"),
      configuration: { acceptedOutputModes: ["text/plain"], blocking: true },
    }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [{ artifactId: "$string", name: "echo", parts: [text("hello")] }],
    }),
  },
  {
    id: "v02-jr-04",
    version: "0.2",
    binding: "JSONRPC",
    name: "stream request without jsonrpc and id, as printed",
    request: post("${rpc}", {
      method: "message/stream",
      params: {
        message: { role: "user", parts: [text("hello")], messageId: "bbb7dee1-cf5c-4683-8a6f-4114529da5eb" },
        metadata: {},
      },
    }),
    expect: {
      status: { $oneOf: [200, 400] },
      anyOf: [
        {
          headers: eventStream,
          lastEvent: sent(
            {
              kind: "status-update",
              taskId: "$string",
              contextId: "$string",
              status: { state: "completed" },
              final: true,
            },
            null,
          ),
        },
        { body: sentError(-32600, null) },
      ],
    },
  },
  {
    id: "v02-jr-05",
    version: "0.2",
    binding: "JSONRPC",
    name: "push setup as printed, then one notification with the task",
    request: call(
      "message/send",
      {
        message: {
          role: "user",
          parts: [text("Generate the Q1 sales report. This usually takes a while. Notify me when it's ready.")],
          messageId: "6dbc13b5-bd57-4c2b-b503-24e381b6c8d6",
        },
        configuration: {
          blocking: false,
          pushNotificationConfig: {
            url: "${webhook}",
            token: "secure-client-token-for-task-aaa",
            authentication: { schemes: ["Bearer"] },
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
          headers: { "x-a2a-notification-token": "secure-client-token-for-task-aaa" },
          body: { kind: "task", id: "$string", status: { state: "completed" } },
        },
      },
    },
  },
  {
    id: "v02-jr-06",
    version: "0.2",
    binding: "JSONRPC",
    name: "push get with the task id only (0.2.0 – 0.2.4)",
    given: [heldTask, configSet],
    request: call("tasks/pushNotificationConfig/get", { id: "${taskId}" }, { id: 6 }),
    expect: result({ taskId: "${taskId}", pushNotificationConfig: { url: "${webhook}" } }, 6),
  },
  {
    id: "v02-jr-07",
    version: "0.2",
    binding: "JSONRPC",
    name: "setting twice without id replaces",
    note: "Clients before 0.2.2 know one config per task. A server that assigns a fresh id each time keeps two configs and may return either.",
    given: [
      heldTask,
      {
        request: call(
          "tasks/pushNotificationConfig/set",
          { taskId: "${taskId}", pushNotificationConfig: { url: "${webhook}" } },
          { id: 4 },
        ),
        expect: result({ taskId: "${taskId}" }, 4),
      },
      {
        request: call(
          "tasks/pushNotificationConfig/set",
          { taskId: "${taskId}", pushNotificationConfig: { url: "${webhook}/second" } },
          { id: 5 },
        ),
        expect: result({ taskId: "${taskId}" }, 5),
      },
    ],
    request: call("tasks/pushNotificationConfig/get", { id: "${taskId}" }, { id: 6 }),
    expect: result({ taskId: "${taskId}", pushNotificationConfig: { url: "${webhook}/second" } }, 6),
  },
  {
    id: "v02-jr-08",
    version: "0.2",
    binding: "JSONRPC",
    name: "structured data of the 0.2 text",
    request: call(
      "message/send",
      {
        message: {
          kind: "message",
          role: "user",
          messageId: "85b26db5-ffbb-4278-a5da-a7b09dea1b47",
          parts: [
            {
              kind: "text",
              text: "Show me a list of my open IT tickets",
              metadata: {
                mimeType: "application/json",
                schema: {
                  type: "array",
                  items: {
                    type: "object",
                    properties: { ticketNumber: { type: "string" }, description: { type: "string" } },
                  },
                },
              },
            },
          ],
        },
      },
      { id: 9 },
    ),
    expect: result(
      {
        kind: "task",
        id: "$string",
        contextId: "$string",
        status: { state: "completed", timestamp: "$iso8601" },
        artifacts: [
          {
            artifactId: "$string",
            parts: [
              text(
                '[{"ticketNumber":"REQ12312","description":"request for VPN access"},{"ticketNumber":"REQ23422","description":"Add to DL - team-gcp-onboarding"}]',
              ),
            ],
          },
        ],
      },
      9,
    ),
  },
];
