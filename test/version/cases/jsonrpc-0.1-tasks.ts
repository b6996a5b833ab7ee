import type { Case } from "./case.js";
import { finishedIn01, heldIn01, phoneAskedFor } from "./given.js";
import { call, refused, result, said01, sent, sentError, text01 } from "./shapes.js";

/** Version 0.1: tasks and their sessions. */
export const jsonRpc01Tasks: readonly Case[] = [
  {
    id: "v01-jr-01",
    version: "0.1",
    binding: "JSONRPC",
    name: "joke: the client names the task",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("tell me a joke"), metadata: {} }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: { state: "completed" },
      artifacts: [
        {
          name: "joke",
          parts: [text01("Why did the chicken cross the road? To get to the other side!")],
          artifactId: "$absent",
        },
      ],
    }),
  },
  {
    id: "v01-jr-02",
    version: "0.1",
    binding: "JSONRPC",
    name: "joke in Chinese, utf-8",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("告诉我一个笑话"), metadata: {} }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: { state: "completed" },
      artifacts: [{ name: "joke", parts: [text01("为什么鸡要过马路?因为想到另一边去!")], artifactId: "$absent" }],
    }),
  },
  {
    id: "v01-jr-03",
    version: "0.1",
    binding: "JSONRPC",
    name: "joke as first printed, parts under the name data",
    request: call("tasks/send", {
      id: "${uuid:a}",
      message: { role: "user", data: [text01("tell me a joke")] },
      metadata: {},
    }),
    expect: {
      status: { $oneOf: [200, 400] },
      anyOf: [
        { body: sent({ id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "completed" } }) },
        { body: { jsonrpc: "2.0", error: { code: { $oneOf: [-32602, -32600] } } } },
      ],
    },
  },
  {
    id: "v01-jr-04",
    version: "0.1",
    binding: "JSONRPC",
    name: "session id is kept",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("hello"), sessionId: "${uuid:s}" }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: { state: "completed" },
      sessionId: "${uuid:s}",
      artifacts: [{ name: "echo", parts: [text01("hello")], artifactId: "$absent" }],
    }),
  },
  {
    id: "v01-jr-05",
    version: "0.1",
    binding: "JSONRPC",
    name: "session id is made when missing",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("hello") }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: { state: "completed" },
      sessionId: "$string",
    }),
  },
  {
    id: "v01-jr-06",
    version: "0.1",
    binding: "JSONRPC",
    name: "parts carry type, never kind",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("hello") }),
    expect: result({
      artifacts: [{ parts: [{ type: "text", kind: "$absent", text: "hello" }], index: { $oneOf: [0, "$absent"] } }],
    }),
  },
  {
    id: "v01-jr-07",
    version: "0.1",
    binding: "JSONRPC",
    name: "null members are accepted",
    request: call("tasks/send", {
      id: "${uuid:a}",
      message: said01("hello"),
      sessionId: null,
      pushNotification: null,
      historyLength: null,
      metadata: null,
    }),
    expect: result({ id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "completed" } }),
  },
  {
    id: "v01-jr-08",
    version: "0.1",
    binding: "JSONRPC",
    name: "no history unless asked",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("hello") }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: { state: "completed" },
      history: { $oneOf: ["$absent", [], null] },
    }),
  },
  {
    id: "v01-jr-09",
    version: "0.1",
    binding: "JSONRPC",
    name: "get with history",
    given: [
      {
        request: call("tasks/send", { id: "${uuid:a}", message: said01("tell me a joke"), metadata: {} }),
        expect: result({ id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "completed" } }),
      },
    ],
    request: call("tasks/get", { id: "${uuid:a}", historyLength: 10, metadata: {} }, { id: 2 }),
    expect: result(
      {
        id: "${uuid:a}",
        kind: "$absent",
        contextId: "$absent",
        status: { state: "completed" },
        history: {
          $includes: [{ role: "user", parts: [text01("tell me a joke")], kind: "$absent", messageId: "$absent" }],
        },
        artifacts: [
          {
            name: "joke",
            parts: [text01("Why did the chicken cross the road? To get to the other side!")],
            artifactId: "$absent",
          },
        ],
      },
      2,
    ),
  },
  {
    id: "v01-jr-10",
    version: "0.1",
    binding: "JSONRPC",
    name: "get answers in 0.1 shape because the task began in 0.1",
    given: [finishedIn01],
    request: call("tasks/get", { id: "${uuid:a}" }, { id: 2 }),
    expect: result(
      {
        id: "${uuid:a}",
        kind: "$absent",
        contextId: "$absent",
        status: { state: "completed" },
        sessionId: "${uuid:s}",
      },
      2,
    ),
  },
  {
    id: "v01-jr-11",
    version: "0.1",
    binding: "JSONRPC",
    name: "get an unknown task",
    request: call("tasks/get", { id: "no-such-task" }),
    expect: refused(-32001),
  },
  {
    id: "v01-jr-12",
    version: "0.1",
    binding: "JSONRPC",
    name: "cancel",
    given: [heldIn01],
    request: call("tasks/cancel", { id: "${uuid:a}", metadata: {} }, { id: 2 }),
    expect: result({ id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "canceled" } }, 2),
  },
  {
    id: "v01-jr-13",
    version: "0.1",
    binding: "JSONRPC",
    name: "cancel a finished task",
    given: [finishedIn01],
    request: call("tasks/cancel", { id: "${uuid:a}" }, { id: 2 }),
    expect: refused(-32002, { id: 2 }),
  },
  {
    id: "v01-jr-14",
    version: "0.1",
    binding: "JSONRPC",
    name: "phone purchase: input required",
    request: call("tasks/send", { id: "${uuid:a}", message: said01("buy me a new phone"), metadata: {} }),
    expect: result({
      id: "${uuid:a}",
      kind: "$absent",
      contextId: "$absent",
      status: {
        state: "input-required",
        message: { role: "agent", parts: [text01("Select phone type (iPhone/Android)")], kind: "$absent" },
      },
    }),
  },
  {
    id: "v01-jr-15",
    version: "0.1",
    binding: "JSONRPC",
    name: "phone purchase: same task id completes it",
    given: [phoneAskedFor],
    request: call(
      "tasks/send",
      { id: "${uuid:a}", message: said01("Android"), sessionId: "${uuid:s}", metadata: {} },
      { id: 2 },
    ),
    expect: result(
      {
        id: "${uuid:a}",
        kind: "$absent",
        contextId: "$absent",
        status: { state: "completed" },
        sessionId: "${uuid:s}",
        artifacts: [
          {
            name: "order-confirmation",
            parts: [text01("I have ordered a new Android device for you. Your request number is R12443")],
            artifactId: "$absent",
          },
        ],
      },
      2,
    ),
  },
  {
    id: "v01-jr-16",
    version: "0.1",
    binding: "JSONRPC",
    name: "flight booking, second turn",
    given: [
      {
        request: call(
          "tasks/send",
          { id: "${uuid:a}", message: said01("I'd like to book a flight.") },
          { id: "req-003" },
        ),
        expect: result(
          { id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "input-required" } },
          "req-003",
        ),
      },
    ],
    request: call(
      "tasks/send",
      {
        id: "${uuid:a}",
        message: said01(
          "I want to fly from New York (JFK) to London (LHR) around October 10th, returning October 17th.",
        ),
      },
      { id: "req-004" },
    ),
    expect: result(
      {
        id: "${uuid:a}",
        kind: "$absent",
        contextId: "$absent",
        status: { state: "completed" },
        artifacts: [
          {
            name: "FlightItinerary.json",
            parts: [
              {
                type: "data",
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
            artifactId: "$absent",
          },
        ],
      },
      "req-004",
    ),
  },
  {
    id: "v01-jr-17",
    version: "0.1",
    binding: "JSONRPC",
    name: "session that is not the task's",
    given: [phoneAskedFor],
    request: call("tasks/send", { id: "${uuid:a}", message: said01("Android"), sessionId: "${uuid:other}" }, { id: 2 }),
    expect: refused({ $oneOf: [-32602, -32600] }, { id: 2, status: { $oneOf: [200, 400] } }),
  },
  {
    id: "v01-jr-18",
    version: "0.1",
    binding: "JSONRPC",
    name: "message to a finished task",
    note: "The second form is the reopen option for the oldest clients.",
    given: [finishedIn01],
    request: call("tasks/send", { id: "${uuid:a}", message: said01("again") }, { id: 2 }),
    expect: {
      status: 200,
      anyOf: [
        { body: sentError({ $oneOf: [-32004, -32009] }, 2) },
        { body: sent({ id: "${uuid:a}", kind: "$absent", contextId: "$absent", status: { state: "completed" } }, 2) },
      ],
    },
  },
];
