import { connectSend, grpcSend, restGet, restSend, rpcSend } from "../calls.js";
import type { TestServer } from "../harness/child.js";
import type { WireCall } from "../protocol.js";
import { FILLED_TASK } from "../protocol.js";
import { REPLY_TEXT, RESULT_TEXT } from "../servers/answers.js";

/** A server and a call to it that can be profiled. `FILE` stands for a new SQLite file. */
export interface ProfileLane {
  readonly title: string;
  readonly program: string;
  readonly args: readonly string[];
  call(server: TestServer): WireCall;
}

export const FILE = "FILE";

/** The port of a receiver of spans. */
export const RECEIVER = "RECEIVER";

/** Finished tasks that are in a file which is read. */
export const FILLED = 10_000;

const QUESTION = "What is the weather?";

const reply = (title: string, send: typeof restSend, program = "parley", args = ["message"]): ProfileLane => ({
  title,
  program,
  args,
  call: (server) => send(server, QUESTION, REPLY_TEXT),
});

const task = (title: string, send: typeof restSend, store = FILE): ProfileLane => ({
  title,
  program: "parley",
  args: ["task", store],
  call: (server) => send(server, "task", RESULT_TEXT),
});

export const LANES: Readonly<Record<string, ProfileLane>> = {
  "bare-http": reply("message reply, node:http with codec", restSend, "bare-http", ["codec"]),
  "jwt-reply": reply("message reply over JSON-RPC to callers with a JSON Web Token", rpcSend, "parley", ["jwt"]),
  "rest-reply": reply("message reply over REST", restSend),
  "jsonrpc-reply": reply("message reply over JSON-RPC", rpcSend),
  "bare-grpc": reply("message reply, bare grpc-js", grpcSend, "bare-rpc", []),
  "grpc-reply": reply("message reply over gRPC", grpcSend),
  "grpc-either": reply("message reply over gRPC, decided by the first event", grpcSend, "parley", ["either"]),
  "bare-connect": reply("message reply, bare connect-node", connectSend, "bare-rpc", []),
  "connect-reply": reply("message reply over Connect", connectSend),
  "jsonrpc-task": task("task of four events over JSON-RPC, SQLite FULL", rpcSend),
  "jsonrpc-task-memory": task("task of four events over JSON-RPC, in memory", rpcSend, "memory"),
  "jsonrpc-reply-traced": {
    ...reply("message reply over JSON-RPC, SDK and metrics", rpcSend, "traced"),
    args: [RECEIVER, "parley", "message", "memory", "telemetry", "metrics"],
  },
  "jsonrpc-task-traced": {
    ...task("task of four events over JSON-RPC, in memory, SDK and metrics", rpcSend),
    program: "traced",
    args: [RECEIVER, "parley", "task", "memory", "telemetry", "metrics"],
  },
  "grpc-task": task("task of four events over gRPC, SQLite FULL", grpcSend),
  "get-task": {
    title: "GetTask over REST, SQLite",
    program: "parley",
    args: ["task", "FILLED"],
    call: (server) => restGet(server, `/tasks/${FILLED_TASK}`, { expect: RESULT_TEXT, numbersBelow: FILLED }),
  },
  "list-tasks": {
    title: "ListTasks of 50 over REST, SQLite",
    program: "parley",
    args: ["task", "FILLED"],
    call: (server) => restGet(server, "/tasks?pageSize=50", { expect: `"totalSize":${FILLED}` }),
  },
};
