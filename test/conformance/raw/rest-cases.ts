import type { JsonObject } from "@bufbuild/protobuf";
import { absent, anId, aTime, exactly, items, like, type Pattern, present } from "../../support/match.js";
import { framesOf } from "./jsonrpc-cases.js";
import type { RawCase, RawStep } from "./raw-case.js";

const a2a = { "Content-Type": "application/a2a+json" };
const a2aType = { "content-type": like(/^application\/a2a\+json(;|$)/) };
const plainType = { "content-type": like(/^application\/json(;|$)/) };
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "echo hi" }] };

/** The body of an error, with the invalid fields. */
function failure(code: number, status: string, reason: string, fields?: readonly string[]): Pattern {
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason,
    domain: like(/^(a2a-protocol\.org|urn:parley)$/),
  };
  const bad = {
    "@type": "type.googleapis.com/google.rpc.BadRequest",
    fieldViolations: (fields ?? []).map((field) =>
      exactly({ ...(field === "" ? {} : { field }), description: like(/\S/) }),
    ),
  };
  const details = fields === undefined ? [info] : [info, bad];
  return exactly({ error: exactly({ code, status, message: like(/\S/), details }) });
}

const invalid = (...fields: string[]): Pattern => failure(400, "INVALID_ARGUMENT", "INVALID_PARAMS", fields);
const notFound = failure(404, "NOT_FOUND", "TASK_NOT_FOUND");

const get = (target: string, json: Pattern, status = 200): RawStep => ({
  send: `GET ${target}`,
  status,
  got: a2aType,
  json,
});
const post = (target: string, body: JsonObject, json: Pattern, status = 200): RawStep => ({
  send: `POST ${target}`,
  headers: a2a,
  body,
  status,
  got: a2aType,
  json,
});

/** Creates a task that asks, and saves its id. */
const asked: RawStep = {
  ...post(
    "/message:send",
    { message: { ...message, parts: [{ text: "ask Which one?" }], contextId: "{run}" } },
    { task: present },
  ),
  save: { taskId: "task.id" },
};

const types: readonly RawCase[] = [
  {
    name: "bodies are of the protocol's own type, or plain JSON for those who want that",
    ids: ["SRV-REST-01", "SRV-REST-03"],
    steps: [
      post("/message:send", { message }, { task: present }),
      {
        ...post("/message:send", { message }, { task: present }),
        headers: { "Content-Type": "application/json; charset=utf-8" },
      },
      {
        send: "POST /message:send",
        headers: { ...a2a, Accept: "application/json" },
        body: { message },
        status: 200,
        got: { "content-type": like(/^application\/json(;|$)/) },
        json: { task: present },
      },
      {
        send: "GET /tasks/unknown",
        headers: { Accept: "application/json" },
        status: 404,
        got: { "content-type": like(/^application\/json(;|$)/) },
        json: notFound,
      },
      { send: "GET /tasks", headers: { Accept: "*/*" }, status: 200, got: a2aType },
    ],
  },
  {
    name: "an error is of the type of the request where the client says nothing of JSON",
    ids: ["SRV-REST-01", "SRV-REST-10"],
    steps: [
      ...[{}, { Accept: "*/*" }, { Accept: "text/event-stream" }].flatMap((accept) => [
        {
          ...post("/message:stream", {}, invalid("message"), 400),
          headers: { "Content-Type": "application/json; charset=utf-8", ...accept },
          got: plainType,
        },
        { ...post("/message:stream", {}, invalid("message"), 400), headers: { ...a2a, ...accept } },
        {
          ...get("/tasks/unknown", notFound, 404),
          headers: { "Content-Type": "application/json", ...accept },
          got: plainType,
        },
      ]),
      ...[{}, { Accept: "*/*" }].map((accept) => ({ ...get("/tasks/unknown", notFound, 404), headers: accept })),
      { ...get("/tasks/unknown", notFound, 404), headers: { Accept: "text/event-stream" }, got: plainType },
      ...["application/a2a+json", "application/json;q=0.5, application/*"].map((type) => ({
        ...post("/message:send", {}, invalid("message"), 400),
        headers: { "Content-Type": "application/json", Accept: type },
      })),
      {
        ...post("/message:send", {}, invalid("message"), 400),
        headers: { ...a2a, Accept: "text/event-stream, application/json" },
        got: plainType,
      },
      {
        ...post("/message:send", {}, failure(415, "INVALID_ARGUMENT", "MEDIA_TYPE_NOT_SUPPORTED"), 415),
        headers: { "Content-Type": "text/plain", Accept: "text/event-stream" },
      },
    ],
  },
  {
    name: "a body of another type is refused",
    ids: ["SRV-REST-15"],
    steps: ["text/plain", "application/x-www-form-urlencoded", "application/xml"].map((type) => ({
      ...post("/message:send", { message }, failure(415, "INVALID_ARGUMENT", "MEDIA_TYPE_NOT_SUPPORTED"), 415),
      headers: { "Content-Type": type },
    })),
  },
  {
    name: "what a page of another origin may send unasked is refused, with a body or without one",
    ids: ["SRV-REST-15", "SRV-SEC-06"],
    steps: [
      ...["/message:send", "/tasks/unknown:cancel"].flatMap((path) =>
        [{}, { "Content-Type": "text/plain" }].map((type) => ({
          ...post(path, { message }, failure(415, "INVALID_ARGUMENT", "MEDIA_TYPE_NOT_SUPPORTED"), 415),
          headers: { Origin: "https://evil.example", ...type },
        })),
      ),
      {
        send: "POST /tasks/unknown:cancel",
        headers: { Origin: "null" },
        body: "",
        status: 415,
        json: failure(415, "INVALID_ARGUMENT", "MEDIA_TYPE_NOT_SUPPORTED"),
      },
      { ...post("/message:send", { message }, { task: present }), headers: { ...a2a, Origin: "https://evil.example" } },
      { send: "POST /tasks/unknown:cancel", body: "", status: 404, json: notFound },
    ],
  },
  {
    name: "what can be read can be asked about with HEAD",
    ids: ["SRV-REST-02"],
    steps: [
      { send: "HEAD /tasks", status: 200, got: { ...a2aType, "content-length": present }, text: "" },
      { send: "HEAD /north/tasks?pageSize=0", status: 400, got: a2aType, text: "" },
      { send: "HEAD /tasks/unknown", status: 404, got: a2aType, text: "" },
      { send: "HEAD /tasks/unknown:subscribe", status: 405, got: { allow: like(/GET/) }, text: "" },
      { send: "HEAD /message:send", status: 405, got: { allow: "POST" }, text: "" },
    ],
  },
  {
    name: "a body that is no JSON is refused",
    ids: ["SRV-REST-03", "SRV-JSON-14"],
    steps: ["{", "nope", new Uint8Array([0x22, 0xff, 0x22])].map((body) => ({
      ...post("/message:send", {}, invalid(""), 400),
      body,
    })),
  },
  {
    name: "null is as good as no body: some clients write it where they have nothing to say",
    ids: ["SRV-REST-03", "SRV-JSON-07"],
    steps: [
      asked,
      ...["", "null", " null\n", "{}"].flatMap((body) => [
        { ...post("/tasks/unknown:cancel", {}, notFound, 404), body },
        { ...post("/tasks/unknown:subscribe", {}, notFound, 404), body },
      ]),
      { ...post("/message:send", {}, invalid("message"), 400), body: "null" },
      { ...post("/tasks/{taskId}:cancel", {}, { status: { state: "TASK_STATE_CANCELED" } }), body: "null" },
    ],
  },
  {
    name: "a body that is no object is refused",
    ids: ["SRV-REST-03"],
    steps: ["[]", '"text"', "5"].map((body) => ({
      ...post("/message:send", {}, failure(400, "INVALID_ARGUMENT", "INVALID_PARAMS", [""]), 400),
      body,
    })),
  },
];

const routes: readonly RawCase[] = [
  {
    name: "a path that is not served is not found",
    ids: ["SRV-REST-15"],
    steps: ["/nothing", "/tasks/", "/a/b/c/d", "/message:shout", "/.well-known/other"].map((path) =>
      get(path, failure(404, "NOT_FOUND", "METHOD_NOT_FOUND"), 404),
    ),
  },
  {
    name: "a verb that a path does not take is refused, and those it takes are named",
    ids: ["SRV-REST-02", "SRV-REST-15"],
    steps: (
      [
        ["PUT /tasks", /^GET$/],
        ["DELETE /tasks/x", /^GET$/],
        ["GET /message:send", /^POST$/],
        ["GET /tasks/x:cancel", /^POST$/],
        ["PATCH /north/tasks/x/pushNotificationConfigs", /GET.*POST|POST.*GET/],
      ] as const
    ).map(([send, allow]) => ({
      send,
      status: 405,
      got: { ...a2aType, allow: like(allow) },
      json: failure(405, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED"),
    })),
  },
  {
    name: "a subscription may be asked for with POST, with a body or without one",
    ids: ["SRV-SUB-09"],
    steps: [
      { send: "POST /tasks/unknown:subscribe", status: 404, got: a2aType, json: notFound },
      post("/tasks/unknown:subscribe", {}, notFound, 404),
      post("/north/tasks/unknown:subscribe", {}, notFound, 404),
      get("/tasks/unknown:subscribe", notFound, 404),
      get("/north/tasks/unknown:subscribe", notFound, 404),
    ],
  },
  {
    name: "a cancel needs no body",
    ids: ["SRV-REST-03", "SRV-CANC-07"],
    steps: [
      { send: "POST /tasks/unknown:cancel", status: 404, got: a2aType, json: notFound },
      { ...post("/tasks/unknown:cancel", {}, notFound, 404), body: "" },
      post("/tasks/unknown:cancel", { metadata: { why: "x" } }, notFound, 404),
    ],
  },
  {
    name: "ids in paths are decoded",
    ids: ["SRV-REST-09"],
    steps: [
      ...(
        [
          ["a%2Fb", "a/b"],
          ["x%3Acancel", "x:cancel"],
          ["%C3%BC%20%25", "ü %"],
          ["a+b", "a+b"],
          ["tasks", "tasks"],
        ] as const
      ).map(([raw, taskId]) => get(`/tasks/${raw}`, { error: { details: [{ metadata: { taskId } }] } }, 404)),
      get("/tasks/%zz", invalid("id"), 400),
      get("/tasks/%ff", invalid("id"), 400),
    ],
  },
  {
    name: "what is said in the path cannot be said otherwise in the body or the query",
    ids: ["SRV-PCFG-08", "SRV-TEN-03"],
    steps: [
      post("/tasks/a:cancel", { id: "b" }, invalid("id"), 400),
      post("/tasks/a:cancel", { id: "a" }, notFound, 404),
      post("/tasks/a/pushNotificationConfigs", { taskId: "b", url: "https://hooks.example" }, invalid("taskId"), 400),
      post("/north/message:send", { tenant: "south", message }, invalid("tenant"), 400),
      post("/north/message:send", { tenant: "north", message }, { task: present }),
      get("/north/tasks?tenant=south", invalid("tenant"), 400),
      get("/tasks/a?id=b", invalid("id"), 400),
    ],
  },
  {
    name: "the tenant may stand in the path, in the body or in the query",
    ids: ["SRV-TEN-03", "SRV-REST-02"],
    setup: "tenants",
    steps: [
      post("/s%C3%BCd/message:send", { message: { ...message, contextId: "{run}" } }, { task: present }),
      post("/message:send", { tenant: "süd", message: { ...message, contextId: "{run}" } }, { task: present }),
      get("/s%C3%BCd/tasks?contextId={run}", { totalSize: 2 }),
      get("/tasks?tenant=s%C3%BCd&contextId={run}", { totalSize: 2 }),
      get("/tasks?contextId={run}", { totalSize: 0 }),
      get("/west/tasks", invalid("tenant"), 400),
    ],
  },
];

const queries: readonly RawCase[] = [
  {
    name: "parameters of a query have the contract's names, and may have the proto's",
    ids: ["SRV-REST-04", "SRV-REST-05", "SRV-REST-06", "SRV-REST-09", "SRV-JSON-02"],
    steps: [
      asked,
      get("/tasks?contextId={run}&pageSize=1&historyLength=0&includeArtifacts=true", {
        pageSize: 1,
        tasks: [{ history: absent }],
      }),
      get("/tasks?context_id={run}&page_size=2", { pageSize: 2, tasks: items(1) }),
      get("/tasks?contextId={run}&status=TASK_STATE_INPUT_REQUIRED", { totalSize: 1 }),
      get("/tasks?contextId={run}&status=TASK_STATE_COMPLETED", { totalSize: 0 }),
      get("/tasks?contextId={run}&statusTimestampAfter=2020-01-01T00%3A00%3A00.000Z", { totalSize: 1 }),
      get("/tasks?contextId={run}&statusTimestampAfter=9999-01-01T00:00:00Z", { totalSize: 0 }),
      get("/tasks/{taskId}?historyLength=1", { history: [present] }),
    ],
  },
  {
    name: "values of a query that do not fit are all named",
    ids: ["SRV-REST-06", "SRV-REST-12", "SRV-LIST-13", "SRV-JSON-04", "SRV-JSON-05"],
    steps: [
      get(
        "/tasks?pageSize=ten&includeArtifacts=yes&status=working&statusTimestampAfter=today",
        invalid("pageSize", "includeArtifacts", "status", "statusTimestampAfter"),
        400,
      ),
      get("/tasks?pageSize=1.5", invalid("pageSize"), 400),
      get("/tasks?pageSize=99999999999", invalid("pageSize"), 400),
      get("/tasks?pageSize=0", invalid("pageSize"), 400),
      get("/tasks?status=TASK_STATE_UNKNOWN", invalid("status"), 400),
      get("/tasks/x?historyLength=-1", invalid("historyLength"), 400),
    ],
  },
  {
    name: "parameters that are not known are ignored",
    ids: ["SRV-GEN-13", "SRV-JSON-10"],
    steps: [
      get("/tasks?contextId={run}&colour=blue&debug", { totalSize: 0 }),
      get("/tasks?contextId={run}&", { totalSize: 0 }),
    ],
  },
];

const emitted: readonly RawCase[] = [
  {
    name: "an error is a body with the status inside",
    ids: ["SRV-ERR-04", "SRV-ERR-07", "SRV-ERR-19", "SRV-REST-10", "SRV-REST-11", "SRV-REST-12"],
    steps: [
      get("/tasks/unknown", notFound, 404),
      post("/message:send", {}, invalid("message"), 400),
      get("/extendedAgentCard", failure(400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"), 400),
      {
        send: "DELETE /tasks/a/pushNotificationConfigs/b",
        status: 400,
        got: a2aType,
        json: failure(400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
      },
    ],
  },
  {
    name: "missing credentials are asked for",
    ids: ["SRV-AUTH-03", "SRV-AUTH-04"],
    setup: "owners",
    steps: [
      {
        send: "GET /tasks",
        status: 401,
        got: { ...a2aType, "www-authenticate": 'Bearer realm="tests"' },
        json: failure(401, "UNAUTHENTICATED", "UNAUTHENTICATED"),
      },
    ],
  },
  {
    name: "an empty list has all of its members, a listed task nothing that was not asked for",
    ids: ["SRV-LIST-05", "SRV-LIST-06", "SRV-LIST-07", "SRV-LIST-15", "SRV-JSON-11"],
    steps: [
      get("/tasks?contextId={run}", exactly({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 })),
      post("/message:send", { message: { ...message, contextId: "{run}" } }, { task: { artifacts: [present] } }),
      get("/tasks?contextId={run}&historyLength=0", {
        tasks: [exactly({ id: anId, contextId: "{run}", status: exactly({ state: present, timestamp: aTime }) })],
      }),
    ],
  },
  {
    name: "a stream is frames of bare events",
    ids: ["SRV-REST-13", "SRV-STRM-16", "SRV-STRM-19"],
    steps: [
      {
        send: "POST /message:stream",
        headers: { ...a2a, Accept: "text/event-stream" },
        body: { message: { ...message, parts: [{ text: "stream 2" }] } },
        status: 200,
        got: {
          "content-type": like(/^text\/event-stream(;|$)/),
          "cache-control": like(/no-store|no-cache/),
          "content-length": absent,
        },
        frames: framesOf((event) => event),
      },
    ],
  },
  {
    name: "a stream that cannot begin is answered as a call is",
    ids: ["SRV-STRM-21"],
    steps: [
      { ...get("/tasks/unknown:subscribe", notFound, 404), headers: { Accept: "text/event-stream" }, got: plainType },
      { ...post("/message:stream", {}, invalid("message"), 400), headers: { ...a2a, Accept: "text/event-stream" } },
    ],
  },
  {
    name: "what a browser sends when it comes back resumes the stream",
    ids: ["SRV-SUB-05", "SRV-REST-13"],
    steps: [
      {
        ...post("/message:send", { message: { ...message, parts: [{ text: "stream 2" }] } }, { task: present }),
        save: { taskId: "task.id" },
      },
      {
        send: "GET /tasks/{taskId}:subscribe",
        headers: { "Last-Event-ID": "3" },
        status: 200,
        frames: [
          { data: { task: { artifacts: absent, history: absent } }, id: "3" },
          { data: { artifactUpdate: present }, id: "4" },
          { data: { statusUpdate: present }, id: "5" },
        ],
      },
    ],
  },
];

/** HTTP+JSON: its media types, routes, parameters, errors and frames. */
export const restCases: readonly RawCase[] = [...types, ...routes, ...queries, ...emitted];
