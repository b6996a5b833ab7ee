import type { Case } from "./case.js";
import { call, result, said, text } from "./shapes.js";

/** Version 0.3 over JSON-RPC: a message, its parts, and its task. */
export const jsonRpcParts: readonly Case[] = [
  {
    id: "v03-jr-01",
    version: "0.3",
    binding: "JSONRPC",
    name: "joke answered as a task",
    request: call("message/send", {
      message: {
        kind: "message",
        role: "user",
        messageId: "9229e770-767c-417b-a0b0-f0741243c589",
        parts: [text("tell me a joke")],
      },
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
    id: "v03-jr-02",
    version: "0.3",
    binding: "JSONRPC",
    name: "joke request as published: message without kind, empty metadata",
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
    id: "v03-jr-79",
    version: "0.3",
    binding: "JSONRPC",
    name: "parts without kind, as fasta2a sends them",
    request: call("message/send", {
      message: { role: "user", parts: [{ text: "tell me a joke" }], messageId: "m-1" },
    }),
    expect: result({ kind: "task", status: { state: "completed" } }),
  },
  {
    id: "v03-jr-03",
    version: "0.3",
    binding: "JSONRPC",
    name: "joke answered as a direct message",
    request: call("message/send", {
      message: said("direct: Why did the chicken cross the road? To get to the other side!"),
    }),
    expect: result({
      kind: "message",
      role: "agent",
      messageId: "$string",
      parts: [text("Why did the chicken cross the road? To get to the other side!")],
      status: "$absent",
    }),
  },
  {
    id: "v03-jr-04",
    version: "0.3",
    binding: "JSONRPC",
    name: "echo of a text part, explicit header",
    request: call("message/send", { message: said("hello") }, { headers: { "A2A-Version": "0.3" } }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [{ artifactId: "$string", name: "echo", parts: [text("hello")] }],
    }),
  },
  {
    id: "v03-jr-05",
    version: "0.3",
    binding: "JSONRPC",
    name: "empty version header means 0.3",
    request: call("message/send", { message: said("hello") }, { headers: { "A2A-Version": "" } }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [{ artifactId: "$string", name: "echo", parts: [text("hello")] }],
    }),
  },
  {
    id: "v03-jr-06",
    version: "0.3",
    binding: "JSONRPC",
    name: "patch number in the header is ignored",
    request: call("message/send", { message: said("hello") }, { headers: { "A2A-Version": "0.3.0" } }),
    expect: result({ kind: "task", id: "$string", contextId: "$string", status: { state: "completed" } }),
  },
  {
    id: "v03-jr-07",
    version: "0.3",
    binding: "JSONRPC",
    name: "no wrapper member and no 1.0 spellings in the result",
    request: call("message/send", { message: said("hello") }),
    expect: result({
      kind: "task",
      task: "$absent",
      message: "$absent",
      statusUpdate: "$absent",
      status: { state: { $matches: "^[a-z-]+$" } },
    }),
  },
  {
    id: "v03-jr-08",
    version: "0.3",
    binding: "JSONRPC",
    name: "string request id is repeated",
    request: call("message/send", { message: said("hello") }, { id: "req-001" }),
    expect: result({ kind: "task", id: "$string", contextId: "$string", status: { state: "completed" } }, "req-001"),
  },
  {
    id: "v03-jr-09",
    version: "0.3",
    binding: "JSONRPC",
    name: "history carries kind, task id and context id",
    request: call("message/send", { message: said("hello"), configuration: { historyLength: 10 } }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      history: {
        $includes: [
          {
            kind: "message",
            role: "user",
            messageId: "m-1",
            taskId: "$string",
            contextId: "$string",
            parts: [text("hello")],
          },
        ],
      },
    }),
  },
  {
    id: "v03-jr-10",
    version: "0.3",
    binding: "JSONRPC",
    name: "status timestamp is ISO 8601",
    request: call("message/send", { message: said("hello") }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed", timestamp: "$iso8601" },
    }),
  },
  {
    id: "v03-jr-11",
    version: "0.3",
    binding: "JSONRPC",
    name: "file part by bytes keeps name, type and content",
    request: call("message/send", {
      message: {
        kind: "message",
        role: "user",
        messageId: "m-1",
        parts: [{ kind: "file", file: { name: "input_image.png", mimeType: "image/png", bytes: "aVZCT1J3MEtHZ28=" } }],
      },
    }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [
        {
          artifactId: "$string",
          name: "echo",
          parts: [
            {
              kind: "file",
              file: { name: "input_image.png", mimeType: "image/png", bytes: "aVZCT1J3MEtHZ28=", uri: "$absent" },
            },
          ],
        },
      ],
    }),
  },
  {
    id: "v03-jr-12",
    version: "0.3",
    binding: "JSONRPC",
    name: "file part by uri",
    request: call("message/send", {
      message: {
        kind: "message",
        role: "user",
        messageId: "m-1",
        parts: [
          {
            kind: "file",
            file: { name: "a.pdf", mimeType: "application/pdf", uri: "https://files.example.com/a.pdf" },
          },
        ],
      },
    }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [
        {
          artifactId: "$string",
          name: "echo",
          parts: [
            {
              kind: "file",
              file: {
                name: "a.pdf",
                mimeType: "application/pdf",
                uri: "https://files.example.com/a.pdf",
                bytes: "$absent",
              },
            },
          ],
        },
      ],
    }),
  },
  {
    id: "v03-jr-13",
    version: "0.3",
    binding: "JSONRPC",
    name: "data part and part metadata",
    request: call("message/send", {
      message: {
        kind: "message",
        role: "user",
        messageId: "m-1",
        parts: [{ kind: "data", data: { a: 1, b: ["x", null, true], c: { d: 1.5 } }, metadata: { k: "v" } }],
      },
    }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [
        {
          artifactId: "$string",
          name: "echo",
          parts: [{ kind: "data", data: { a: 1, b: ["x", null, true], c: { d: 1.5 } }, metadata: { k: "v" } }],
        },
      ],
    }),
  },
  {
    id: "v03-jr-14",
    version: "0.3",
    binding: "JSONRPC",
    name: "array produced by a 1.0 agent is wrapped in an object",
    request: call("message/send", { message: said("array: 1,2,3") }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [
        {
          artifactId: "$string",
          parts: [{ kind: "data", data: { value: [1, 2, 3] }, metadata: { data_part_compat: true } }],
        },
      ],
    }),
  },
  {
    id: "v03-jr-15",
    version: "0.3",
    binding: "JSONRPC",
    name: "wrapped array is unwrapped for the agent and wrapped again",
    request: call("message/send", {
      message: {
        kind: "message",
        role: "user",
        messageId: "m-1",
        parts: [{ kind: "data", data: { value: [1, 2] }, metadata: { data_part_compat: true } }],
      },
    }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [
        {
          artifactId: "$string",
          name: "echo",
          parts: [{ kind: "data", data: { value: [1, 2] }, metadata: { data_part_compat: true } }],
        },
      ],
    }),
  },
  {
    id: "v03-jr-16",
    version: "0.3",
    binding: "JSONRPC",
    name: "object with a member called value is not a wrapper",
    request: call("message/send", {
      message: { kind: "message", role: "user", messageId: "m-1", parts: [{ kind: "data", data: { value: [1, 2] } }] },
    }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [
        {
          artifactId: "$string",
          name: "echo",
          parts: [{ kind: "data", data: { value: [1, 2] }, metadata: "$absent" }],
        },
      ],
    }),
  },
  {
    id: "v03-jr-17",
    version: "0.3",
    binding: "JSONRPC",
    name: "file exchange: image in, uri out",
    request: call(
      "message/send",
      {
        message: {
          kind: "message",
          role: "user",
          messageId: "6dbc13b5-bd57-4c2b-b503-24e381b6c8d6",
          parts: [
            text("Analyze this image and highlight any faces."),
            { kind: "file", file: { name: "input_image.png", mimeType: "image/png", bytes: "aVZCT1J3MEtHZ28=" } },
          ],
        },
      },
      { id: "req-007" },
    ),
    expect: result(
      {
        kind: "task",
        id: "$string",
        contextId: "$string",
        status: { state: "completed" },
        artifacts: [
          {
            artifactId: "$string",
            name: "processed_image_with_faces.png",
            parts: [
              {
                kind: "file",
                file: {
                  name: "output.png",
                  mimeType: "image/png",
                  uri: "https://storage.example.com/processed/task-bbb/output.png?token=xyz",
                  bytes: "$absent",
                },
              },
            ],
          },
        ],
      },
      "req-007",
    ),
  },
  {
    id: "v03-jr-18",
    version: "0.3",
    binding: "JSONRPC",
    name: "structured data: ticket list with a schema hint in part metadata",
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
        status: { state: "completed" },
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
