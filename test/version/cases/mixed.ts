import type { Case } from "./case.js";
import { finishedTask } from "./given.js";
import { call, post, protoSaid, refused, rpc, said } from "./shapes.js";

/** Servers of several versions. */
export const mixed: readonly Case[] = [
  {
    id: "vx-jr-01",
    version: "any",
    binding: "JSONRPC",
    name: "unsupported version",
    request: call("message/send", { message: said("hello") }, { headers: { "A2A-Version": "99.0" } }),
    expect: refused(-32009, { id: { $oneOf: [1, null] }, status: { $oneOf: [200, 400] } }),
  },
  {
    id: "vx-jr-02",
    version: "any",
    binding: "JSONRPC",
    name: "1.0 header with a 0.3 method",
    request: call("message/send", { message: said("hello") }, { headers: { "A2A-Version": "1.0" } }),
    expect: refused(-32601),
  },
  {
    id: "vx-jr-03",
    version: "any",
    binding: "JSONRPC",
    name: "1.0 request on the same endpoint is still answered in 1.0 form",
    request: call(
      "SendMessage",
      { message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "hello" }] } },
      { headers: { "A2A-Version": "1.0" } },
    ),
    expect: {
      status: 200,
      body: {
        jsonrpc: "2.0",
        id: 1,
        result: {
          task: { id: "$string", kind: "$absent", status: { state: "TASK_STATE_COMPLETED" } },
          kind: "$absent",
        },
        error: "$absent",
      },
    },
  },
  {
    id: "vx-jr-04",
    version: "any",
    binding: "JSONRPC",
    name: "task made through 0.3 is readable through 1.0",
    given: [finishedTask],
    request: call("GetTask", { id: "${taskId}" }, { id: 2, headers: { "A2A-Version": "1.0" } }),
    expect: {
      status: 200,
      body: {
        jsonrpc: "2.0",
        id: 2,
        result: {
          id: "${taskId}",
          contextId: "${contextId}",
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [{ artifactId: "$string", name: "echo", parts: [{ text: "hello", kind: "$absent" }] }],
        },
        error: "$absent",
      },
    },
  },
  {
    id: "vx-rest-01",
    version: "any",
    binding: "HTTP+JSON",
    name: "unsupported version",
    request: post("${rest}/v1/message:send", { message: protoSaid("hello") }, { headers: { "A2A-Version": "0.5" } }),
    expect: { status: 400 },
  },
  {
    id: "vx-grpc-01",
    version: "any",
    binding: "GRPC",
    name: "metadata names a version the service is not",
    request: rpc("GetTask", { name: "tasks/x" }, { headers: { "a2a-version": "99.0" } }),
    expect: { status: { $oneOf: ["FAILED_PRECONDITION", "UNIMPLEMENTED"] } },
  },
];
