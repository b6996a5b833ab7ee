import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  A2AService,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  ListTasksResponseSchema,
  Role,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  TaskSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, invalid, taskNotFound } from "../../../src/core/error.js";
import { requestValues } from "../../../src/http/body.js";
import type { Invocation } from "../../../src/service/invoke.js";
import { setConstants } from "../../support/constants.js";
import { type Served, serve } from "./support.js";

const { getTask, listTasks, sendMessage } = A2AService.method;

const proto = (bytes: Uint8Array): [string, Uint8Array] => ["application/proto", bytes];
const json = (text: string, type = "application/json"): [string, string] => [type, text];
const idOf = (id: string) => toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id }));
const send = create(SendMessageRequestSchema, {
  message: { messageId: "m", role: Role.USER, parts: [{ content: { case: "text", value: "hello" } }] },
});

/** Answers with the id that the request names. */
function answering({ method, request, call }: Invocation) {
  call.responseHeaders.set("x-request-id", call.header("x-request-id") ?? "none");
  call.responseHeaders.set("x-illegal", "ü");
  call.responseHeaders.set(
    "x-seen",
    `${call.binding} ${call.impliedVersion} ${call.peer.address} ${call.header("A2A-Version")}`,
  );
  if (method.name === sendMessage.name) {
    const text = "a long answer ".repeat(200);
    const content = { case: "text", value: text } as const;
    const value = { messageId: "n", role: Role.AGENT, parts: [{ content }] };
    return create(SendMessageResponseSchema, { payload: { case: "message", value } });
  }
  if (method.name === listTasks.name) {
    return create(ListTasksResponseSchema, { pageSize: (request as { pageSize?: number }).pageSize ?? 50 });
  }
  const { id = "" } = request as { id?: string };
  if (id === "gone") throw taskNotFound(id);
  if (id === "broken") throw new Error("the database is on fire");
  if (id === "refused") {
    throw new A2AError("UNAUTHENTICATED", "Credentials, please.", { headers: { "www-authenticate": "Bearer" } });
  }
  if (id === "busy") throw new A2AError("UNAVAILABLE", "Later.", { retryAfterMs: 1_500 });
  if (id === "unfit") throw invalid([{ field: "id", description: "is too short" }]);
  if (id === "no json") return create(TaskSchema, { id, metadata: { number: Number.NaN } });
  return create(TaskSchema, { id, status: { state: TaskState.WORKING, timestamp: { seconds: 1n, nanos: 5_000_000 } } });
}

const cases: [string, { name: string }, [string, string | Uint8Array], Record<string, string>?][] = [
  ["binary", getTask, proto(idOf("t"))],
  ["no bytes", getTask, proto(new Uint8Array())],
  [
    "a page size of 0",
    listTasks,
    proto(toBinary(ListTasksRequestSchema, create(ListTasksRequestSchema, { pageSize: 0 }))),
  ],
  ["JSON", getTask, json('{"id":"t"}')],
  ["JSON with a charset", getTask, json('{"id":"t","unknown":[1]}', "Application/JSON; charset=UTF-8")],
  ["a request id", getTask, json('{"id":"t"}'), { "x-request-id": "mine" }],
  ["a parameter of the query", { name: `${getTask.name}?A2A-Version=0.3` }, json('{"id":"t"}')],
  ["identity", getTask, proto(idOf("t")), { "content-encoding": "identity" }],
  ["an error of the service", getTask, proto(idOf("gone"))],
  ["an error of the service, in JSON", getTask, json('{"id":"gone"}')],
  ["an error with headers", getTask, proto(idOf("refused"))],
  ["an error with a time", getTask, proto(idOf("busy"))],
  ["an error with violations", getTask, proto(idOf("unfit"))],
  ["an error that nobody foresaw", getTask, proto(idOf("broken"))],
  ["an answer without a form in JSON", getTask, json('{"id":"no json"}')],
  ["bytes that are no message", getTask, proto(new Uint8Array([0xff, 0xff]))],
  ["text that is no JSON", getTask, json("{")],
  ["JSON that is no object", getTask, json("[1]")],
  ["JSON that does not fit", sendMessage, json('{"message":{"messageId":5,"parts":"none"}}')],
  ["a number that is too large", sendMessage, json('{"message":{"metadata":{"n":1e999}}}')],
  ["too many values", sendMessage, json(`{"message":{"extensions":[${'"",'.repeat(200)}""]}}`)],
  ["a long answer", sendMessage, proto(toBinary(SendMessageRequestSchema, send))],
  [
    "a long answer, in gzip",
    sendMessage,
    proto(toBinary(SendMessageRequestSchema, send)),
    { "accept-encoding": "gzip" },
  ],
  ["a long answer, in brotli", sendMessage, json("{}"), { "accept-encoding": "deflate, br, gzip" }],
  ["a short answer for who takes gzip", getTask, proto(idOf("t")), { "accept-encoding": "gzip" }],
];

async function ask(
  { h1 }: Served,
  method: { name: string },
  [type, body]: [string, string | Uint8Array],
  headers: Record<string, string>,
): Promise<{ status: number; headers: Record<string, string>; body: string }> {
  // A fixed id makes the answers comparable.
  const all = { "accept-encoding": "identity", "x-request-id": "the-same", ...headers, "content-type": type };
  const response = await fetch(`${h1}/${A2AService.typeName}/${method.name}`, { method: "POST", headers: all, body });
  const { date: _, ...shown } = Object.fromEntries(response.headers);
  expect(shown["x-request-id"]).toMatch(/./);
  return {
    status: response.status,
    headers: shown,
    body: Buffer.from(await response.arrayBuffer()).toString("latin1"),
  };
}

describe("an ordinary unary call", () => {
  it.each(cases)("is answered as Connect's own handler answers it: %s", async (_, method, body, headers = {}) => {
    setConstants(requestValues, { max: 100 });
    const served = await serve(answering, { maxRequestBytes: 4_000 });
    // Connect's own handler serves calls with a deadline.
    const theirs = await ask(served, method, body, { ...headers, "connect-timeout-ms": "60000" });
    const theirLog = served.lines.splice(0);
    const ours = await ask(served, method, body, headers);
    expect(ours).toEqual(theirs);
    expect(served.lines.map(({ level, message }) => [level, message])).toEqual(
      theirLog.map(({ level, message }) => [level, message]),
    );
  });

  it.each([
    ["a member twice", json('{"id":"a","id":"b"}'), "INVALID_PARAMS"],
    ["too many bytes", json(`{"tenant":"${"x".repeat(5_000)}"}`), "REQUEST_TOO_LARGE"],
  ] as const)("has an ErrorInfo where Connect's own handler has none: %s", async (_, body, reason) => {
    const served = await serve(answering, { maxRequestBytes: 4_000 });
    const theirs = await ask(served, getTask, body, { "connect-timeout-ms": "60000" });
    const ours = await ask(served, getTask, body, {});
    const [{ code }, { details, ...error }] = [JSON.parse(theirs.body), JSON.parse(ours.body)];
    expect([ours.status, error.code]).toEqual([theirs.status, code]);
    expect(details).toMatchObject([{ type: "google.rpc.ErrorInfo", debug: { reason } }]);
  });
});
