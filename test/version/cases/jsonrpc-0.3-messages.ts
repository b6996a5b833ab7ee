import type { Case } from "./case.js";
import { finishedTask, flightAskedFor } from "./given.js";
import { call, refused, result, said, text } from "./shapes.js";

/** Version 0.3 over JSON-RPC: turns, waiting, and states. */
export const jsonRpcMessages: readonly Case[] = [
  {
    id: "v03-jr-19",
    version: "0.3",
    binding: "JSONRPC",
    name: "flight booking: first turn asks for input",
    request: call(
      "message/send",
      {
        message: {
          kind: "message",
          role: "user",
          messageId: "c53ba666-3f97-433c-a87b-6084276babe2",
          parts: [text("I'd like to book a flight.")],
        },
      },
      { id: "req-003" },
    ),
    expect: result(
      {
        kind: "task",
        id: "$string",
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
      },
      "req-003",
    ),
  },
  {
    id: "v03-jr-20",
    version: "0.3",
    binding: "JSONRPC",
    name: "flight booking: second turn completes the same task",
    given: [flightAskedFor],
    request: call(
      "message/send",
      {
        message: {
          kind: "message",
          role: "user",
          messageId: "0db1d6c4-3976-40ed-b9b8-0043ea7a03d3",
          parts: [
            text("I want to fly from New York (JFK) to London (LHR) around October 10th, returning October 17th."),
          ],
          taskId: "${taskId}",
          contextId: "${contextId}",
        },
        configuration: { blocking: true },
      },
      { id: "req-004" },
    ),
    expect: result(
      {
        kind: "task",
        id: "${taskId}",
        contextId: "${contextId}",
        status: {
          state: "completed",
          message: {
            kind: "message",
            role: "agent",
            messageId: "$string",
            parts: [text("Okay, I've found a flight for you. Confirmation XYZ123. Details are in the artifact.")],
          },
        },
        artifacts: [
          {
            artifactId: "$string",
            name: "FlightItinerary.json",
            parts: [
              {
                kind: "data",
                data: {
                  confirmationId: "XYZ123",
                  from: "JFK",
                  to: "LHR",
                  departure: "2024-10-10T18:00:00Z",
                  arrival: "2024-10-11T06:00:00Z",
                  returnDeparture: "...",
                },
              },
            ],
          },
        ],
      },
      "req-004",
    ),
  },
  {
    id: "v03-jr-21",
    version: "0.3",
    binding: "JSONRPC",
    name: "second turn without contextId: the task supplies it",
    given: [flightAskedFor],
    request: call("message/send", {
      message: {
        kind: "message",
        role: "user",
        messageId: "m-2",
        parts: [text("I want to fly from New York (JFK) to London (LHR) around October 10th, returning October 17th.")],
        taskId: "${taskId}",
      },
    }),
    expect: result({ kind: "task", id: "${taskId}", contextId: "${contextId}", status: { state: "completed" } }),
  },
  {
    id: "v03-jr-22",
    version: "0.3",
    binding: "JSONRPC",
    name: "second turn with a foreign contextId is refused",
    given: [flightAskedFor],
    request: call("message/send", {
      message: {
        kind: "message",
        role: "user",
        messageId: "m-2",
        parts: [text("I want to fly from New York (JFK) to London (LHR) around October 10th, returning October 17th.")],
        taskId: "${taskId}",
        contextId: "some-other-context",
      },
    }),
    expect: refused(-32602),
  },
  {
    id: "v03-jr-23",
    version: "0.3",
    binding: "JSONRPC",
    name: "follow-up in the same context makes a new task",
    given: [finishedTask],
    request: call("message/send", {
      message: {
        kind: "message",
        role: "user",
        messageId: "m-2",
        parts: [text("hello again")],
        contextId: "${contextId}",
        referenceTaskIds: ["${taskId}"],
      },
    }),
    expect: result({
      kind: "task",
      id: { $not: "${taskId}" },
      contextId: "${contextId}",
      status: { state: "completed" },
    }),
  },
  {
    id: "v03-jr-24",
    version: "0.3",
    binding: "JSONRPC",
    name: "message to a finished task is refused",
    given: [finishedTask],
    request: call("message/send", {
      message: { kind: "message", role: "user", messageId: "m-2", parts: [text("more")], taskId: "${taskId}" },
    }),
    expect: refused({ $oneOf: [-32004, -32600, -32602] }),
  },
  {
    id: "v03-jr-25",
    version: "0.3",
    binding: "JSONRPC",
    name: "message to an unknown task",
    request: call("message/send", {
      message: { kind: "message", role: "user", messageId: "m-1", parts: [text("x")], taskId: "no-such-task" },
    }),
    expect: refused(-32001),
  },
  {
    id: "v03-jr-26",
    version: "0.3",
    binding: "JSONRPC",
    name: "blocking false returns before the work is done",
    request: call("message/send", { message: said("slow: later"), configuration: { blocking: false } }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: { $oneOf: ["submitted", "working"] } },
    }),
  },
  {
    id: "v03-jr-27",
    version: "0.3",
    binding: "JSONRPC",
    name: "blocking true waits",
    request: call("message/send", { message: said("slow: later"), configuration: { blocking: true } }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: { state: "completed" },
      artifacts: [{ artifactId: "$string", name: "echo", parts: [text("slow: later")] }],
    }),
  },
  {
    id: "v03-jr-28",
    version: "0.3",
    binding: "JSONRPC",
    name: "no configuration waits",
    request: call("message/send", { message: said("slow: later") }),
    expect: result({ kind: "task", id: "$string", contextId: "$string", status: { state: "completed" } }),
  },
  {
    id: "v03-jr-29",
    version: "0.3",
    binding: "JSONRPC",
    name: "configuration without blocking waits",
    note: "Some bridges answer a running task here; servers of 0.3 waited.",
    request: call("message/send", {
      message: said("slow: later"),
      configuration: { acceptedOutputModes: ["text/plain"] },
    }),
    expect: result({ kind: "task", id: "$string", contextId: "$string", status: { state: "completed" } }),
  },
  {
    id: "v03-jr-30",
    version: "0.3",
    binding: "JSONRPC",
    name: "rejected is a state of its own",
    request: call("message/send", { message: said("reject: not my job") }),
    expect: result({
      kind: "task",
      id: "$string",
      contextId: "$string",
      status: {
        state: "rejected",
        message: { kind: "message", role: "agent", messageId: "$string", parts: [text("not my job")] },
      },
    }),
  },
  {
    id: "v03-jr-31",
    version: "0.3",
    binding: "JSONRPC",
    name: "auth-required is interrupted, send returns it",
    request: call("message/send", { message: said("auth: log in") }),
    expect: result({ kind: "task", id: "$string", contextId: "$string", status: { state: "auth-required" } }),
  },
  {
    id: "v03-jr-32",
    version: "0.3",
    binding: "JSONRPC",
    name: "failed",
    request: call("message/send", { message: said("fail: broken") }),
    expect: result({ kind: "task", id: "$string", contextId: "$string", status: { state: "failed" } }),
  },
];
