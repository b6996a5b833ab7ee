import type { Case } from "./case.js";
import { finishedTask, heldTask } from "./given.js";
import {
  anyNumber,
  call,
  eventStream,
  json,
  refused,
  result,
  said,
  sent,
  sentError,
  streamed,
  text,
} from "./shapes.js";

/** Version 0.3 over JSON-RPC: tasks and streams. */
export const jsonRpcTasks: readonly Case[] = [
  {
    id: "v03-jr-33",
    version: "0.3",
    binding: "JSONRPC",
    name: "get a task",
    given: [finishedTask],
    request: call("tasks/get", { id: "${taskId}" }, { id: 2 }),
    expect: result(
      {
        kind: "task",
        id: "${taskId}",
        contextId: "${contextId}",
        status: { state: "completed" },
        artifacts: [{ artifactId: "$string", name: "echo", parts: [text("hello")] }],
      },
      2,
    ),
  },
  {
    id: "v03-jr-34",
    version: "0.3",
    binding: "JSONRPC",
    name: "get with history length one",
    given: [finishedTask],
    request: call("tasks/get", { id: "${taskId}", historyLength: 1 }, { id: 2 }),
    expect: result({ kind: "task", id: "${taskId}", history: { $length: 1 } }, 2),
  },
  {
    id: "v03-jr-35",
    version: "0.3",
    binding: "JSONRPC",
    name: "get an unknown task",
    request: call("tasks/get", { id: "no-such-task" }),
    expect: refused(-32001),
  },
  {
    id: "v03-jr-36",
    version: "0.3",
    binding: "JSONRPC",
    name: "get without id",
    request: call("tasks/get", {}),
    expect: refused(-32602),
  },
  {
    id: "v03-jr-37",
    version: "0.3",
    binding: "JSONRPC",
    name: "negative history length",
    given: [finishedTask],
    request: call("tasks/get", { id: "${taskId}", historyLength: -1 }, { id: 2 }),
    expect: refused(-32602, { id: 2 }),
  },
  {
    id: "v03-jr-38",
    version: "0.3",
    binding: "JSONRPC",
    name: "cancel a running task: one l",
    given: [heldTask],
    request: call("tasks/cancel", { id: "${taskId}" }, { id: 2 }),
    expect: result({ kind: "task", id: "${taskId}", status: { state: "canceled" } }, 2),
  },
  {
    id: "v03-jr-39",
    version: "0.3",
    binding: "JSONRPC",
    name: "cancel a finished task",
    given: [finishedTask],
    request: call("tasks/cancel", { id: "${taskId}" }, { id: 2 }),
    expect: refused(-32002, { id: 2 }),
  },
  {
    id: "v03-jr-40",
    version: "0.3",
    binding: "JSONRPC",
    name: "cancel an unknown task",
    request: call("tasks/cancel", { id: "no-such-task" }),
    expect: refused(-32001),
  },
  {
    id: "v03-jr-41",
    version: "0.3",
    binding: "JSONRPC",
    name: "stream: task first, chunks, final status, close",
    request: call("message/stream", {
      message: {
        kind: "message",
        role: "user",
        messageId: "bbb7dee1-cf5c-4683-8a6f-4114529da5eb",
        parts: [text("write a long paper describing the attached pictures")],
      },
    }),
    expect: streamed([
      sent({
        kind: "task",
        id: "$string",
        contextId: "$string",
        status: { state: { $oneOf: ["submitted", "working"] } },
      }),
      anyNumber(
        sent({
          kind: "status-update",
          taskId: "$string",
          contextId: "$string",
          status: { state: "working" },
          final: false,
        }),
      ),
      sent({
        kind: "artifact-update",
        taskId: "$string",
        contextId: "$string",
        artifact: { artifactId: "$string", parts: [text("<section 1...>")] },
        append: { $oneOf: [false, "$absent"] },
        lastChunk: { $oneOf: [false, "$absent"] },
      }),
      sent({
        kind: "artifact-update",
        taskId: "$string",
        contextId: "$string",
        artifact: { artifactId: "$string", parts: [text("<section 2...>")] },
        append: true,
        lastChunk: { $oneOf: [false, "$absent"] },
      }),
      sent({
        kind: "artifact-update",
        taskId: "$string",
        contextId: "$string",
        artifact: { artifactId: "$string", parts: [text("<section 3...>")] },
        append: true,
        lastChunk: true,
      }),
      sent({
        kind: "status-update",
        taskId: "$string",
        contextId: "$string",
        status: { state: "completed" },
        final: true,
      }),
    ]),
  },
  {
    id: "v03-jr-42",
    version: "0.3",
    binding: "JSONRPC",
    name: "stream with a file part spelled data as in the published example",
    note: "A lenient server reads file.data as bytes; a strict one refuses.",
    request: call("message/stream", {
      message: {
        role: "user",
        parts: [
          text("write a long paper describing the attached pictures"),
          { kind: "file", file: { mimeType: "image/png", data: "aVZCT1J3MEtHZ28=" } },
        ],
        messageId: "bbb7dee1-cf5c-4683-8a6f-4114529da5eb",
      },
      metadata: {},
    }),
    expect: {
      status: 200,
      anyOf: [
        {
          headers: eventStream,
          lastEvent: sent({
            kind: "status-update",
            taskId: "$string",
            contextId: "$string",
            status: { state: "completed" },
            final: true,
          }),
        },
        { body: sentError(-32602) },
      ],
    },
  },
  {
    id: "v03-jr-43",
    version: "0.3",
    binding: "JSONRPC",
    name: "stream: direct message is the only event",
    request: call("message/stream", { message: said("direct: hi") }),
    expect: streamed([sent({ kind: "message", role: "agent", messageId: "$string", parts: [text("hi")] })]),
  },
  {
    id: "v03-jr-44",
    version: "0.3",
    binding: "JSONRPC",
    name: "stream: interrupted state ends the stream with final true",
    note: "Some servers send final false here; a client that waits for final would hang.",
    request: call("message/stream", { message: said("I'd like to book a flight.") }),
    expect: streamed([
      sent({ kind: "task", id: "$string", contextId: "$string", status: { state: "$string" } }),
      anyNumber(
        sent({
          kind: "status-update",
          taskId: "$string",
          contextId: "$string",
          status: { state: "working" },
          final: false,
        }),
      ),
      sent({
        kind: "status-update",
        taskId: "$string",
        contextId: "$string",
        status: {
          state: "input-required",
          message: {
            kind: "message",
            role: "agent",
            messageId: "$string",
            parts: [
              text(
                "Sure, I can help with that! Where would you like to fly to, and from where? Also, what are your preferred travel dates?",
              ),
            ],
          },
        },
        final: true,
      }),
    ]),
  },
  {
    id: "v03-jr-45",
    version: "0.3",
    binding: "JSONRPC",
    name: "stream: failed is final",
    request: call("message/stream", { message: said("fail: broken") }),
    expect: streamed([
      sent({ kind: "task", id: "$string", contextId: "$string", status: { state: "$string" } }),
      anyNumber(
        sent({
          kind: "status-update",
          taskId: "$string",
          contextId: "$string",
          status: { state: "working" },
          final: false,
        }),
      ),
      sent({
        kind: "status-update",
        taskId: "$string",
        contextId: "$string",
        status: { state: "failed" },
        final: true,
      }),
    ]),
  },
  {
    id: "v03-jr-46",
    version: "0.3",
    binding: "JSONRPC",
    name: "stream of a finished task id is refused before any event",
    given: [finishedTask],
    request: call("message/stream", {
      message: { kind: "message", role: "user", messageId: "m-2", parts: [text("more")], taskId: "${taskId}" },
    }),
    expect: {
      status: 200,
      anyOf: [
        { body: sentError({ $oneOf: [-32004, -32600, -32602] }) },
        { headers: eventStream, events: [sentError({ $oneOf: [-32004, -32600, -32602] })] },
      ],
    },
  },
  {
    id: "v03-jr-47",
    version: "0.3",
    binding: "JSONRPC",
    name: "stream without the capability",
    server: { streaming: false },
    request: call("message/stream", { message: said("hello") }),
    expect: { status: 200, anyOf: [{ body: sentError(-32004) }, { events: [sentError(-32004)] }] },
  },
  {
    id: "v03-jr-48",
    version: "0.3",
    binding: "JSONRPC",
    name: "resubscribe to a running task, then cancel it elsewhere",
    given: [heldTask],
    request: call("tasks/resubscribe", { id: "${taskId}" }, { id: 3 }),
    expect: {
      ...streamed([
        anyNumber(
          sent(
            {
              $oneOf: [
                { kind: "task", id: "$string", contextId: "$string", status: { state: "working" } },
                {
                  kind: "status-update",
                  taskId: "$string",
                  contextId: "$string",
                  status: { state: "working" },
                  final: false,
                },
              ],
            },
            3,
          ),
        ),
        sent(
          {
            kind: "status-update",
            taskId: "$string",
            contextId: "$string",
            status: { state: "canceled" },
            final: true,
          },
          3,
        ),
      ]),
      during: [
        {
          request: call("tasks/cancel", { id: "${taskId}" }, { id: 4 }),
          expect: result({ kind: "task", status: { state: "canceled" } }, 4),
        },
      ],
    },
  },
  {
    id: "v03-jr-49",
    version: "0.3",
    binding: "JSONRPC",
    name: "resubscribe to an unknown task",
    request: call("tasks/resubscribe", { id: "no-such-task" }),
    expect: {
      status: 200,
      anyOf: [
        { headers: eventStream, events: [sentError(-32001)] },
        { headers: json, body: sentError(-32001) },
      ],
    },
  },
  {
    id: "v03-jr-50",
    version: "0.3",
    binding: "JSONRPC",
    name: "resubscribe to a finished task ends at once",
    given: [finishedTask],
    request: call("tasks/resubscribe", { id: "${taskId}" }, { id: 3 }),
    expect: {
      status: 200,
      anyOf: [
        {
          headers: eventStream,
          events: [
            sent({ kind: "task", id: "$string", contextId: "$string", status: { state: "completed" } }, 3),
            anyNumber(
              sent(
                {
                  kind: "status-update",
                  taskId: "$string",
                  contextId: "$string",
                  status: { state: "completed" },
                  final: true,
                },
                3,
              ),
            ),
          ],
          closed: true,
        },
        { events: [sentError(-32004, 3)] },
        { body: sentError(-32004, 3) },
      ],
    },
  },
];
