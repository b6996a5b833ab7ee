import type { Case } from "./case.js";
import { heldIn01 } from "./given.js";
import { anyNumber, call, eventStream, refused, result, said01, sent, sentError, streamed, text01 } from "./shapes.js";

/** Version 0.1: parts, states, streams, push configurations and refusals. */
export const jsonRpc01: readonly Case[] = [
  {
    id: "v01-jr-19",
    version: "0.1",
    binding: "JSONRPC",
    name: "file exchange",
    request: call(
      "tasks/send",
      {
        id: "${uuid:a}",
        message: {
          role: "user",
          parts: [
            text01("Analyze this image and highlight any faces."),
            { type: "file", file: { name: "input_image.png", mimeType: "image/png", bytes: "aVZCT1J3MEtHZ28=" } },
          ],
        },
      },
      { id: "req-007" },
    ),
    expect: result(
      {
        id: "${uuid:a}",
        kind: "$absent",
        contextId: "$absent",
        status: { state: "completed" },
        artifacts: [
          {
            name: "processed_image_with_faces.png",
            parts: [
              {
                type: "file",
                file: {
                  name: "output.png",
                  mimeType: "image/png",
                  uri: "https://storage.example.com/processed/task-bbb/output.png?token=xyz",
                },
              },
            ],
            artifactId: "$absent",
          },
        ],
      },
      "req-007",
    ),
  },
  {
    id: "v01-jr-20",
    version: "0.1",
    binding: "JSONRPC",
    name: "echo of a file by bytes",
    request: call("tasks/send", {
      id: "${uuid:a}",
      message: {
        role: "user",
        parts: [{ type: "file", file: { name: "r.pdf", mimeType: "application/pdf", bytes: "aVZCT1J3MEtHZ28=" } }],
      },
    }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: { state: "completed" },
      artifacts: [
        {
          name: "echo",
          parts: [{ type: "file", file: { name: "r.pdf", mimeType: "application/pdf", bytes: "aVZCT1J3MEtHZ28=" } }],
          artifactId: "$absent",
        },
      ],
    }),
  },
  {
    id: "v01-jr-21",
    version: "0.1",
    binding: "JSONRPC",
    name: "file with neither bytes nor uri",
    request: call("tasks/send", {
      id: "${uuid:a}",
      message: { role: "user", parts: [{ type: "file", file: { name: "r.pdf" } }] },
    }),
    expect: refused({ $oneOf: [-32602, -32600] }, { status: { $oneOf: [200, 400] } }),
  },
  {
    id: "v01-jr-22",
    version: "0.1",
    binding: "JSONRPC",
    name: "structured output with a schema hint",
    request: call(
      "tasks/send",
      {
        id: "${uuid:a}",
        message: {
          role: "user",
          parts: [
            {
              type: "text",
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
        metadata: {},
      },
      { id: 9 },
    ),
    expect: result(
      {
        id: "${uuid:a}",
        kind: "$absent",
        contextId: "$absent",
        status: { state: "completed" },
        artifacts: [
          {
            parts: [
              text01(
                '[{"ticketNumber":"REQ12312","description":"request for VPN access"},{"ticketNumber":"REQ23422","description":"Add to DL - team-gcp-onboarding"}]',
              ),
            ],
          },
        ],
      },
      9,
    ),
  },
  {
    id: "v01-jr-23",
    version: "0.1",
    binding: "JSONRPC",
    name: "array data is allowed",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("array: 1,2,3") }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: { state: "completed" },
      artifacts: [{ parts: [{ type: "data", data: { $oneOf: [[1, 2, 3], { value: [1, 2, 3] }] } }] }],
    }),
  },
  {
    id: "v01-jr-24",
    version: "0.1",
    binding: "JSONRPC",
    name: "direct message becomes a completed task",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("direct: hi") }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: { state: "completed", message: { role: "agent", parts: [text01("hi")] } },
    }),
  },
  {
    id: "v01-jr-25",
    version: "0.1",
    binding: "JSONRPC",
    name: "rejected is reported as failed",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("reject: not my job") }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: { state: "failed", message: { role: "agent", parts: [text01("not my job")] } },
    }),
  },
  {
    id: "v01-jr-26",
    version: "0.1",
    binding: "JSONRPC",
    name: "auth-required is reported as input-required",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("auth: log in") }),
    expect: result({ id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "input-required" } }),
  },
  {
    id: "v01-jr-27",
    version: "0.1",
    binding: "JSONRPC",
    name: "stream: status, chunks with index, final status",
    request: call("tasks/sendSubscribe", {
      id: "${uuid:a}",
      message: said01("write a long paper describing the attached pictures"),
      sessionId: "${uuid:s}",
      metadata: {},
    }),
    expect: streamed([
      anyNumber(
        sent({
          id: "${uuid:a}",
          kind: "$absent",
          taskId: "$absent",
          status: { state: { $oneOf: ["submitted", "working"] } },
          final: { $oneOf: [false, "$absent"] },
        }),
      ),
      sent({
        id: "${uuid:a}",
        kind: "$absent",
        artifact: {
          parts: [text01("<section 1...>")],
          index: 0,
          append: { $oneOf: [false, "$absent"] },
          lastChunk: { $oneOf: [false, "$absent"] },
        },
      }),
      sent({
        id: "${uuid:a}",
        artifact: {
          parts: [text01("<section 2...>")],
          index: 0,
          append: true,
          lastChunk: { $oneOf: [false, "$absent"] },
        },
      }),
      sent({
        id: "${uuid:a}",
        artifact: { parts: [text01("<section 3...>")], index: 0, append: true, lastChunk: true },
      }),
      sent({ id: "${uuid:a}", kind: "$absent", taskId: "$absent", status: { state: "completed" }, final: true }),
    ]),
  },
  {
    id: "v01-jr-28",
    version: "0.1",
    binding: "JSONRPC",
    name: "stream: asking for input is final",
    request: call("tasks/sendSubscribe", { id: "${uuid:a}", message: said01("buy me a new phone") }),
    expect: streamed([
      anyNumber(
        sent({
          id: "${uuid:a}",
          kind: "$absent",
          taskId: "$absent",
          status: { state: { $oneOf: ["submitted", "working"] } },
          final: { $oneOf: [false, "$absent"] },
        }),
      ),
      sent({ id: "${uuid:a}", kind: "$absent", taskId: "$absent", status: { state: "input-required" }, final: true }),
    ]),
  },
  {
    id: "v01-jr-29",
    version: "0.1",
    binding: "JSONRPC",
    name: "stream: a direct message is one final status event",
    request: call("tasks/sendSubscribe", { id: "${uuid:a}", message: said01("direct: hi") }),
    expect: streamed([
      sent({
        id: "${uuid:a}",
        kind: "$absent",
        taskId: "$absent",
        status: { state: "completed", message: { role: "agent", parts: [text01("hi")] } },
        final: true,
      }),
    ]),
  },
  {
    id: "v01-jr-30",
    version: "0.1",
    binding: "JSONRPC",
    name: "resubscribe gives status and artifact events only",
    given: [heldIn01],
    request: call("tasks/resubscribe", { id: "${uuid:a}", metadata: {} }, { id: 3 }),
    expect: {
      ...streamed([
        anyNumber(
          sent(
            {
              id: "${uuid:a}",
              kind: "$absent",
              taskId: "$absent",
              status: { state: "working" },
              final: { $oneOf: [false, "$absent"] },
            },
            3,
          ),
        ),
        sent({ id: "${uuid:a}", kind: "$absent", taskId: "$absent", status: { state: "canceled" }, final: true }, 3),
      ]),
      during: [
        {
          request: call("tasks/cancel", { id: "${uuid:a}" }, { id: 4 }),
          expect: result({ id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "canceled" } }, 4),
        },
      ],
    },
  },
  {
    id: "v01-jr-31",
    version: "0.1",
    binding: "JSONRPC",
    name: "push set",
    given: [heldIn01],
    request: call(
      "tasks/pushNotification/set",
      { id: "${uuid:a}", pushNotificationConfig: { url: "${webhook}", authentication: { schemes: ["jwt"] } } },
      { id: 5 },
    ),
    expect: result(
      {
        id: "${uuid:a}",
        taskId: "$absent",
        pushNotificationConfig: { url: "${webhook}", authentication: { schemes: ["jwt"] } },
      },
      5,
    ),
  },
  {
    id: "v01-jr-32",
    version: "0.1",
    binding: "JSONRPC",
    name: "push get",
    given: [
      heldIn01,
      {
        request: call(
          "tasks/pushNotification/set",
          { id: "${uuid:a}", pushNotificationConfig: { url: "${webhook}", authentication: { schemes: ["jwt"] } } },
          { id: 5 },
        ),
        expect: result(
          {
            id: "${uuid:a}",
            taskId: "$absent",
            pushNotificationConfig: { url: "${webhook}", authentication: { schemes: ["jwt"] } },
          },
          5,
        ),
      },
    ],
    request: call("tasks/pushNotification/get", { id: "${uuid:a}" }, { id: 6 }),
    expect: result(
      {
        id: "${uuid:a}",
        taskId: "$absent",
        pushNotificationConfig: { url: "${webhook}", authentication: { schemes: ["jwt"] } },
      },
      6,
    ),
  },
  {
    id: "v01-jr-33",
    version: "0.1",
    binding: "JSONRPC",
    name: "push get with none set",
    given: [heldIn01],
    request: call("tasks/pushNotification/get", { id: "${uuid:a}" }, { id: 6 }),
    expect: {
      status: 200,
      anyOf: [
        { body: sent({ id: "${uuid:a}", pushNotificationConfig: { $oneOf: [null, "$absent"] } }, 6) },
        { body: sentError(-32001, 6) },
      ],
    },
  },
  {
    id: "v01-jr-34",
    version: "0.1",
    binding: "JSONRPC",
    name: "push without the capability",
    server: { pushNotifications: false },
    request: call("tasks/pushNotification/set", {
      id: "x",
      pushNotificationConfig: { url: "https://example.com/callback" },
    }),
    expect: refused(-32003),
  },
  {
    id: "v01-jr-35",
    version: "0.1",
    binding: "JSONRPC",
    name: "inline push: the report task is posted in 0.1 shape",
    request: call(
      "tasks/sendSubscribe",
      {
        id: "${uuid:a}",
        message: said01("Generate the Q1 sales report. This usually takes a while. Notify me when it's ready."),
        pushNotification: {
          url: "${webhook}",
          token: "secure-client-token-for-task-aaa",
          authentication: { schemes: ["Bearer"], credentials: "abc" },
        },
      },
      { id: "req-005" },
    ),
    expect: {
      status: 200,
      headers: eventStream,
      lastEvent: sent(
        { id: "${uuid:a}", kind: "$absent", taskId: "$absent", status: { state: "completed" }, final: true },
        "req-005",
      ),
      webhook: {
        eventually: {
          method: "POST",
          headers: {
            "content-type": { $startsWith: "application/json" },
            "x-a2a-notification-token": "secure-client-token-for-task-aaa",
          },
          body: { id: "${uuid:a}", kind: "$absent", status: { state: "completed" } },
        },
      },
    },
  },
  {
    id: "v01-jr-36",
    version: "0.1",
    binding: "JSONRPC",
    name: "stream without the capability",
    server: { streaming: false },
    request: call("tasks/sendSubscribe", { id: "${uuid:a}", message: said01("hello") }),
    expect: {
      status: 200,
      anyOf: [{ body: sentError({ $oneOf: [-32004, -32006] }) }, { events: [sentError({ $oneOf: [-32004, -32006] })] }],
    },
  },
  {
    id: "v01-jr-37",
    version: "0.1",
    binding: "JSONRPC",
    name: "no task id",
    request: call("tasks/send", { message: said01("x") }),
    expect: refused({ $oneOf: [-32602, -32600] }, { id: { $oneOf: [1, null] }, status: { $oneOf: [200, 400] } }),
  },
  {
    id: "v01-jr-38",
    version: "0.1",
    binding: "JSONRPC",
    name: "unknown part type",
    request: call("tasks/send", { id: "${uuid:a}", message: { role: "user", parts: [{ type: "video" }] } }),
    expect: refused({ $oneOf: [-32602, -32600] }, { id: { $oneOf: [1, null] }, status: { $oneOf: [200, 400] } }),
  },
  {
    id: "v01-jr-39",
    version: "0.1",
    binding: "JSONRPC",
    name: "push list does not exist",
    request: call("tasks/pushNotification/list", { id: "x" }),
    expect: refused(-32601),
  },
];
