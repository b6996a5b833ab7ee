import { absent, anId, aTime, exactly, like, type Pattern, present } from "../../support/match.js";
import type { RawCase } from "./raw-case.js";

const path = "/lf.a2a.v1.A2AService";
const json = { "Content-Type": "application/json", "Connect-Protocol-Version": "1" };
const jsonType = { "content-type": "application/json" };
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "echo hi" }] };

const failure = (code: string, types: readonly string[]): Pattern =>
  exactly({
    code,
    message: like(/\S/),
    details: types.map((type) => ({ type: `google.rpc.${type}`, value: like(/^[A-Za-z0-9+/_-]+$/) })),
  });

/** An empty message in the framing of gRPC and gRPC-Web. */
const emptyFrame = new Uint8Array(5);

/** Connect and gRPC-Web: paths, types, statuses, and the JSON that Connect emits. */
export const connectCases: readonly RawCase[] = [
  {
    name: "a page size of 0 in binary is none, and one in JSON is out of range",
    ids: ["SRV-LIST-12", "SRV-CUST-02"],
    steps: [
      {
        send: `POST ${path}/ListTasks`,
        headers: { "Content-Type": "application/proto" },
        // Field 4 as a varint.
        body: new Uint8Array([0x20, 0]),
        status: 200,
        got: { "content-type": "application/proto" },
      },
      {
        send: `POST ${path}/ListTasks`,
        headers: json,
        body: { pageSize: 0 },
        status: 400,
        got: jsonType,
        json: failure("invalid_argument", ["ErrorInfo", "BadRequest"]),
      },
    ],
  },
  {
    name: "a call is answered in JSON",
    ids: ["SRV-CUST-02", "SRV-CUST-03", "SRV-CUST-04"],
    steps: [
      {
        send: `POST ${path}/SendMessage`,
        headers: json,
        body: { message },
        status: 200,
        got: jsonType,
        json: exactly({ task: present }),
      },
    ],
  },
  {
    name: "an error has its code, its status of HTTP and its details",
    ids: ["SRV-CUST-05", "SRV-ERR-19"],
    steps: [
      {
        send: `POST ${path}/GetTask`,
        headers: json,
        body: { id: "x" },
        status: 404,
        got: jsonType,
        json: failure("not_found", ["ErrorInfo"]),
      },
      {
        send: `POST ${path}/GetTask`,
        headers: json,
        body: {},
        status: 400,
        got: jsonType,
        json: failure("invalid_argument", ["ErrorInfo", "BadRequest"]),
      },
      {
        send: `POST ${path}/GetExtendedAgentCard`,
        headers: json,
        body: {},
        status: 400,
        json: failure("failed_precondition", ["ErrorInfo"]),
      },
    ],
  },
  {
    name: "missing credentials are asked for",
    ids: ["SRV-AUTH-03", "SRV-AUTH-04", "SRV-CUST-09"],
    setup: "owners",
    steps: [
      {
        send: `POST ${path}/ListTasks`,
        headers: json,
        body: {},
        status: 401,
        got: { "www-authenticate": 'Bearer realm="tests"' },
        json: failure("unauthenticated", ["ErrorInfo"]),
      },
    ],
  },
  {
    name: "JSON has what is required and nothing that was not said",
    ids: ["SRV-LIST-05", "SRV-LIST-07", "SRV-LIST-15", "SRV-JSON-11", "SRV-CUST-03"],
    steps: [
      {
        send: `POST ${path}/ListTasks`,
        headers: json,
        body: { contextId: "{run}" },
        status: 200,
        json: exactly({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 }),
      },
      {
        send: `POST ${path}/SendMessage`,
        headers: json,
        body: { message: { ...message, contextId: "{run}" } },
        status: 200,
      },
      {
        send: `POST ${path}/ListTasks`,
        headers: json,
        body: { contextId: "{run}", historyLength: 0 },
        status: 200,
        json: {
          tasks: [exactly({ id: anId, contextId: "{run}", status: exactly({ state: present, timestamp: aTime }) })],
        },
      },
    ],
  },
  {
    name: "reads are served with GET too",
    ids: ["SRV-GEN-14"],
    steps: [
      {
        send: `GET ${path}/ListTasks?connect=v1&encoding=json&message=%7B%22contextId%22%3A%22{run}%22%7D`,
        status: 200,
        got: { ...jsonType, "cache-control": like(/no-store/) },
        json: exactly({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 }),
      },
      {
        send: `GET ${path}/SendMessage?connect=v1&encoding=json&message=%7B%7D`,
        status: 405,
        got: { allow: like(/POST/) },
      },
    ],
  },
  {
    name: "gRPC-Web answers in its own type, with the status in the last frame",
    ids: ["SRV-CUST-02", "SRV-CUST-05"],
    steps: [
      {
        send: `POST ${path}/ListTasks`,
        headers: { "Content-Type": "application/grpc-web+proto", "X-Grpc-Web": "1" },
        body: emptyFrame,
        status: 200,
        got: { "content-type": "application/grpc-web+proto", "grpc-status": absent },
        text: like(/grpc-status: 0/),
      },
      {
        send: `POST ${path}/GetExtendedAgentCard`,
        headers: { "Content-Type": "application/grpc-web+proto", "X-Grpc-Web": "1" },
        body: emptyFrame,
        status: 200,
        text: like(/grpc-status: 9[\s\S]*grpc-status-details-bin|grpc-status-details-bin[\s\S]*grpc-status: 9/),
      },
    ],
  },
  {
    name: "a method that is not there and a type that is not spoken are refused",
    ids: ["SRV-CUST-02"],
    steps: [
      { send: `POST ${path}/Unknown`, headers: json, body: {}, status: 404 },
      { send: `POST ${path}/ListTasks`, headers: { "Content-Type": "text/plain" }, body: "x", status: 415 },
    ],
  },
];
