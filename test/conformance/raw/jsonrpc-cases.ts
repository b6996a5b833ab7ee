import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { absent, all, anId, aTime, exactly, like, not, type Pattern, present } from "../../support/match.js";
import type { RawCase, RawStep } from "./raw-case.js";

const json = { "Content-Type": "application/json" };
const echo = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "echo hi" }] } };

/** A JSON-RPC request object. */
function rpc(method: string, params: JsonValue | undefined, id: JsonValue = 1): JsonObject {
  return { jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) };
}

/** Posts a request and expects a response object as JSON. */
function post(body: RawStep["body"], answer: Pattern, more: Partial<RawStep> = {}): RawStep {
  return {
    send: "POST /",
    headers: json,
    ...(body === undefined ? {} : { body }),
    status: 200,
    got: { "content-type": like(/^application\/json(;|$)/) },
    json: answer,
    ...more,
  };
}

const result = (value: Pattern, id: Pattern = 1): Pattern => exactly({ jsonrpc: "2.0", id, result: value });
const failure = (code: number, id: Pattern, more: { [name: string]: Pattern } = {}): Pattern =>
  exactly({ jsonrpc: "2.0", id, error: { code, message: like(/\S/), ...more } });

const errorInfo = (reason: string, domain: string): Pattern => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain,
});

const envelope: readonly RawCase[] = [
  {
    name: "a call is answered in JSON with its result",
    ids: ["SRV-RPC-01", "SRV-RPC-02", "SRV-RPC-03", "SRV-RPC-04", "SRV-RPC-12"],
    steps: [
      post(rpc("SendMessage", echo), result(exactly({ task: present }))),
      post(rpc("SendMessage", echo), result(present), {
        headers: { "Content-Type": "application/json; charset=utf-8" },
      }),
      post(rpc("SendMessage", echo), result(present), { headers: { "content-type": "application/a2a+json" } }),
    ],
  },
  {
    name: "the answer repeats the id with its type",
    ids: ["SRV-RPC-09"],
    steps: ([7, 0, -1, "7", "", "ü"] as const).map((id) => post(rpc("ListTasks", {}, id), result(present, id))),
  },
  {
    name: "a notification is not answered",
    ids: ["SRV-RPC-11"],
    steps: [
      {
        send: "POST /",
        headers: json,
        body: { jsonrpc: "2.0", method: "ListTasks", params: {} },
        status: 204,
        text: "",
      },
      {
        send: "POST /",
        headers: { ...json, "A2A-Version": "1.0" },
        body: { jsonrpc: "2.0", method: "Unknown", params: {} },
        status: 204,
        text: "",
      },
    ],
  },
  {
    name: "a batch has one answer for each of its calls",
    ids: ["SRV-RPC-11"],
    steps: [
      post(
        [rpc("ListTasks", {}, "a"), rpc("GetTask", { id: "unknown" }, "b")],
        [result(present, "a"), failure(-32001, "b")],
      ),
      post([], failure(-32600, null)),
      post([rpc("SendStreamingMessage", echo, "a")], [failure(-32600, "a")]),
    ],
  },
  {
    name: "what is no JSON is a parse error",
    ids: ["SRV-RPC-06", "SRV-RPC-09", "SRV-JSON-14"],
    steps: ["{", "", "nope", '{"jsonrpc":"2.0",}', new Uint8Array([0x22, 0xff, 0x22])].map((body) =>
      post(
        body,
        failure(-32700, null, {
          message: "Invalid JSON payload",
          data: [errorInfo("PARSE_ERROR", "a2a-protocol.org")],
        }),
      ),
    ),
  },
  {
    name: "what is no request object is an invalid request",
    ids: ["SRV-RPC-01", "SRV-RPC-06", "SRV-RPC-09"],
    steps: [
      post(
        {},
        failure(-32600, null, {
          message: like(/^Request payload validation error/),
          data: [errorInfo("INVALID_REQUEST", "a2a-protocol.org")],
        }),
      ),
      post('"text"', failure(-32600, null)),
      post({ id: 1, method: "ListTasks" }, failure(-32600, 1)),
      post({ jsonrpc: "1.0", id: 1, method: "ListTasks" }, failure(-32600, 1)),
      post({ jsonrpc: "2.0", id: 1 }, failure(-32600, 1)),
      post({ jsonrpc: "2.0", id: 1, method: 5 }, failure(-32600, 1)),
      post({ jsonrpc: "2.0", id: {}, method: "ListTasks" }, failure(-32600, null)),
    ],
  },
  {
    name: "a method that is not there is told apart",
    ids: ["SRV-RPC-03", "SRV-RPC-06"],
    steps: ["Unknown", "sendMessage", "listtasks", "toString", "lf.a2a.v1.A2AService/ListTasks"].map((method) =>
      post(
        rpc(method, {}, "x"),
        failure(-32601, "x", {
          message: "Method not found",
          data: [errorInfo("METHOD_NOT_FOUND", "a2a-protocol.org")],
        }),
      ),
    ),
  },
  {
    name: "parameters may be left out where nothing is required",
    ids: ["SRV-RPC-10"],
    steps: [
      post(rpc("ListTasks", undefined), result(present)),
      post(rpc("ListTasks", null), result(present)),
      post(rpc("GetExtendedAgentCard", undefined), failure(-32004, 1)),
      post(rpc("GetTask", undefined), failure(-32602, 1)),
    ],
  },
];

const notThisType = failure(-32005, null, {
  data: [errorInfo("CONTENT_TYPE_NOT_SUPPORTED", "a2a-protocol.org")],
});

const errors: readonly RawCase[] = [
  {
    name: "an error has its details as a list of typed objects",
    ids: ["SRV-ERR-04", "SRV-ERR-08", "SRV-ERR-19", "SRV-RPC-07"],
    steps: [
      post(
        rpc("GetTask", { id: "unknown" }),
        failure(-32001, 1, {
          data: [all(errorInfo("TASK_NOT_FOUND", "a2a-protocol.org"), { metadata: { taskId: "unknown" } })],
        }),
      ),
      post(
        rpc("GetTask", { id: "" }),
        failure(-32602, 1, {
          data: [
            errorInfo("INVALID_PARAMS", "a2a-protocol.org"),
            {
              "@type": "type.googleapis.com/google.rpc.BadRequest",
              fieldViolations: [{ field: "id", description: "is required" }],
            },
          ],
        }),
      ),
    ],
  },
  {
    name: "another verb and another media type are refused, no media type at all is not",
    ids: ["SRV-RPC-02"],
    steps: [
      { send: "GET /", status: 405, got: { allow: "POST" } },
      { send: "PUT /", headers: json, body: "{}", status: 405, got: { allow: "POST" } },
      ...["text/plain", "application/xml", "application/json; charset=utf-16"].map((type) =>
        post(rpc("ListTasks", {}), notThisType, { headers: { "Content-Type": type } }),
      ),
      post(JSON.stringify(rpc("ListTasks", {})), result(present), { headers: {} }),
      // A page of another origin could send this request without a preflight.
      post(rpc("ListTasks", {}), notThisType, { headers: { Origin: "https://evil.example" } }),
      post(rpc("ListTasks", {}), result(present), { headers: { ...json, Origin: "https://app.example" } }),
    ],
  },
  {
    name: "HTTP is told of missing credentials too",
    ids: ["SRV-AUTH-03", "SRV-AUTH-04", "SRV-RPC-12"],
    setup: "owners",
    steps: [
      post(rpc("ListTasks", {}), failure(-32000, 1, { data: [errorInfo("UNAUTHENTICATED", "a2a-protocol.org")] }), {
        status: 401,
        got: { "www-authenticate": 'Bearer realm="tests"' },
      }),
    ],
  },
  {
    name: "a stream that cannot begin is answered as a call is",
    ids: ["SRV-STRM-21", "SRV-RPC-12"],
    steps: [
      post(rpc("SubscribeToTask", { id: "unknown" }), failure(-32001, 1)),
      post(rpc("SendStreamingMessage", {}), failure(-32602, 1)),
    ],
  },
];

const emitted: readonly RawCase[] = [
  {
    name: "an empty list has all of its members",
    ids: ["SRV-LIST-05", "SRV-LIST-06", "SRV-LIST-15", "SRV-JSON-11", "SRV-GEN-09"],
    steps: [
      post(
        rpc("ListTasks", { contextId: "{run}" }),
        result(exactly({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 })),
      ),
    ],
  },
  {
    name: "a listed task has no artifacts unless they are asked for",
    ids: ["SRV-LIST-07", "SRV-LIST-08", "SRV-JSON-11", "SRV-HIST-02"],
    steps: [
      post(rpc("SendMessage", { message: { ...echo.message, contextId: "{run}" } }), result(present)),
      post(
        rpc("ListTasks", { contextId: "{run}", historyLength: 0 }),
        result({
          tasks: [exactly({ id: anId, contextId: "{run}", status: exactly({ state: present, timestamp: aTime }) })],
        }),
      ),
      post(
        rpc("ListTasks", { contextId: "{run}", includeArtifacts: true }),
        result({ tasks: [{ artifacts: [present] }] }),
      ),
    ],
  },
  {
    name: "a task is written in the contract's names, with nothing that is not said",
    ids: [
      "SRV-JSON-01",
      "SRV-JSON-03",
      "SRV-JSON-06",
      "SRV-JSON-11",
      "SRV-JSON-12",
      "SRV-TIME-01",
      "SRV-TIME-02",
      "SRV-TIME-04",
      "SRV-COMP-02",
      "SRV-STRM-19",
    ],
    steps: [
      post(
        rpc("SendMessage", { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "file" }] } }),
        result(
          exactly({
            task: exactly({
              id: anId,
              contextId: anId,
              status: exactly({ state: "TASK_STATE_COMPLETED", timestamp: like(/T\d\d:\d\d:\d\d\.\d{3}Z$/) }),
              artifacts: [
                exactly({
                  artifactId: anId,
                  name: "file",
                  parts: [exactly({ raw: "++//AA==", mediaType: "application/octet-stream", filename: "four.bin" })],
                }),
              ],
              history: [
                exactly({
                  messageId: "m",
                  contextId: anId,
                  taskId: anId,
                  role: "ROLE_USER",
                  parts: [exactly({ text: "file" })],
                }),
              ],
            }),
          }),
        ),
      ),
    ],
  },
  {
    name: "a stream is frames of whole response objects",
    ids: ["SRV-RPC-05", "SRV-STRM-16", "SRV-STRM-17", "SRV-STRM-19", "SRV-COMP-02"],
    steps: [
      {
        send: "POST /",
        headers: { ...json, Accept: "text/event-stream" },
        body: rpc(
          "SendStreamingMessage",
          { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "stream 2" }] } },
          "s",
        ),
        status: 200,
        got: {
          "content-type": like(/^text\/event-stream(;|$)/),
          "cache-control": like(/no-store|no-cache/),
          "content-length": absent,
        },
        frames: framesOf((event) => result(event, "s")),
      },
    ],
  },
  {
    name: "a stream needs no Accept header",
    ids: ["SRV-RPC-05"],
    steps: [
      {
        send: "POST /",
        headers: json,
        body: rpc("SendStreamingMessage", echo, "s"),
        status: 200,
        got: { "content-type": like(/^text\/event-stream(;|$)/) },
        frames: [{ data: present }, { data: present }, { data: not({ error: present }) }],
      },
    ],
  },
];

/** The frames of "stream 2" in the envelope of a binding. Their ids are generations. */
export function framesOf(wrap: (event: Pattern) => Pattern): NonNullable<RawStep["frames"]> {
  const place = { taskId: anId, contextId: anId };
  const status = (state: string): Pattern =>
    exactly({ statusUpdate: exactly({ ...place, status: exactly({ state, timestamp: aTime, message: present }) }) });
  const piece = (more: { [name: string]: Pattern }): Pattern =>
    exactly({
      artifactUpdate: exactly({
        ...place,
        artifact: exactly({ artifactId: anId, name: "pieces", parts: [present] }),
        ...more,
      }),
    });
  return [
    { data: wrap(exactly({ task: present })), id: "1" },
    { data: wrap(status("TASK_STATE_WORKING")), id: "2" },
    { data: wrap(piece({})), id: "3" },
    { data: wrap(piece({ append: true, lastChunk: true })), id: "4" },
    { data: wrap(status("TASK_STATE_COMPLETED")), id: "5" },
  ];
}

/** JSON-RPC: its envelope, its errors, and the JSON and frames of its answers. */
export const jsonRpcCases: readonly RawCase[] = [...envelope, ...errors, ...emitted];
