import fc from "fast-check";
import { describe, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { toHook } from "../conformance/hook.js";
import { connect, grpc, grpcWeb, type Judge, jsonRpc, rest } from "./answers.js";
import { finishedTask, fuzz, replaced } from "./fuzzing.js";
import { http1, http2Client, type RawRequest, type Send } from "./raw-http.js";
import { type Asked, asked, bytesOf, envelope, mangled, mutated } from "./requests.js";
import { type Served, serve } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

const service = A2AService.typeName;
const streams = new Set(A2AService.methods.filter((each) => each.methodKind !== "unary").map(({ name }) => name));

/** Bytes that have nothing to do with any request. */
const noise: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: "binary", maxLength: 30 }).map((text) => Buffer.from(text)),
  fc.json({ maxDepth: 3 }).map((text) => Buffer.from(text)),
);

/** Mutated JSON of requests, and random bytes. */
function json({ request }: Asked): fc.Arbitrary<Buffer> {
  const changed = mutated(JSON.stringify(request)).map((text) => Buffer.from(text));
  return fc.oneof({ weight: 5, arbitrary: changed }, { weight: 1, arbitrary: noise });
}

function binary(about: Asked): fc.Arbitrary<Buffer> {
  return fc.oneof({ weight: 4, arbitrary: mangled(bytesOf(about)) }, { weight: 1, arbitrary: noise });
}

/** Envelopes as they should be, with lying lengths and flags, cut off, and several of them. */
function framed(data: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const one = fc
    .tuple(data, fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2, 0x80, 0xff), fc.constantFrom(0, 0, 0, 0, 0, 1, -1, 5e6, 4e9))
    .map(([bytes, flags, off]) => envelope(bytes, flags, Math.max(0, bytes.length + off)));
  return fc.oneof(
    { weight: 8, arbitrary: one },
    { weight: 1, arbitrary: fc.array(one, { maxLength: 3 }).map((all) => Buffer.concat(all)) },
    { weight: 1, arbitrary: fc.tuple(one, fc.nat(8)).map(([all, cut]) => all.subarray(0, all.length - cut)) },
    { weight: 1, arbitrary: data },
  );
}

/**
 * A compressed message needs a header that names the compression. The flag alone gets INTERNAL, as the gRPC protocol
 * demands.
 */
const encoding = { "grpc-encoding": "gzip", "connect-content-encoding": "gzip" };

/** Requests to one binding, made of any call to it. */
type Make = (about: Asked) => fc.Arbitrary<RawRequest>;

const rpcPath = ({ rpc }: Asked): string => `/${service}/${rpc}`;

const toJsonRpc: Make = ({ rpc, request }) => {
  const whole = JSON.stringify({ jsonrpc: "2.0", id: 1, method: rpc, params: request });
  const body = fc.oneof(
    { weight: 5, arbitrary: mutated(whole) },
    { weight: 1, arbitrary: mutated(whole).map((text) => `[${text},${whole}]`) },
    { weight: 1, arbitrary: noise },
  );
  return body.map((each) => ({ path: "/", headers: { "content-type": "application/json" }, body: each }));
};

const paths: Readonly<Record<string, string>> = {
  SendMessage: "POST /message:send",
  SendStreamingMessage: "POST /message:stream",
  GetTask: "GET /tasks/{id}",
  ListTasks: "GET /tasks",
  CancelTask: "POST /tasks/{id}:cancel",
  SubscribeToTask: "POST /tasks/{id}:subscribe",
  CreateTaskPushNotificationConfig: "POST /tasks/{taskId}/pushNotificationConfigs",
  GetTaskPushNotificationConfig: "GET /tasks/{taskId}/pushNotificationConfigs/{id}",
  ListTaskPushNotificationConfigs: "GET /tasks/{taskId}/pushNotificationConfigs",
  DeleteTaskPushNotificationConfig: "DELETE /tasks/{taskId}/pushNotificationConfigs/{id}",
  GetExtendedAgentCard: "GET /extendedAgentCard",
};

const toRest: Make = (about) => {
  const [method = "", template = ""] = (paths[about.rpc] ?? "").split(" ");
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(`${about.request[name]}`));
  const odd = fc.constantFrom("", "x", "-1", "%", "%ff", "%F0%9F%98%80", "1e9", "true", "TASK_STATE_WORKING", "a%00b");
  const name = fc.constantFrom(
    "pageSize",
    "status",
    "historyLength",
    "pageToken",
    "tenant",
    "id",
    "__proto__",
    "A2A-Version",
  );
  const query = fc
    .array(fc.tuple(name, odd), { maxLength: 3 })
    .map((pairs) => pairs.map(([key, value]) => `${key}=${value}`).join("&"));
  if (method !== "POST") return query.map((text) => ({ method, path: `${path}?${text}` }));
  const headers = { "content-type": "application/a2a+json" };
  return json(about).map((body) => ({ method, path, headers, body }));
};

const toConnect: Make = (about) => {
  const stream = streams.has(about.rpc);
  const kind = (codec: string): string => (stream ? `application/connect+${codec}` : `application/${codec}`);
  const make = (codec: string, data: fc.Arbitrary<Buffer>): fc.Arbitrary<RawRequest> =>
    (stream ? framed(data) : data).map((body) => ({
      path: rpcPath(about),
      headers: { "content-type": kind(codec), "connect-protocol-version": "1", ...encoding },
      body,
    }));
  return fc.oneof(make("json", json(about)), make("proto", binary(about)));
};

function toGrpcOf(base: string, text = false): Make {
  return (about) => {
    const make = (codec: string, data: fc.Arbitrary<Buffer>): fc.Arbitrary<RawRequest> =>
      framed(data).map((body) => ({
        path: rpcPath(about),
        headers: { "content-type": `${base}${codec}`, te: "trailers", ...encoding },
        body: text ? body.toString("base64") : body,
      }));
    return fc.oneof(make("+json", json(about)), make("+proto", binary(about)), make("", binary(about)));
  };
}

/** gRPC by its own library speaks binary alone. */
const toGrpcPort: Make = (about) =>
  framed(binary(about)).map((body) => ({
    path: rpcPath(about),
    headers: { "content-type": "application/grpc", te: "trailers", ...encoding },
    body,
  }));

interface Target {
  readonly name: string;
  readonly make: Make;
  readonly judge: Judge;
  readonly send: (served: Served) => Send;
  /** Codes that say "the server is broken". */
  readonly internal: readonly (number | string)[];
  readonly runs: number;
}

const h1 = ({ port }: Served): Send => http1(port);
const h2 = ({ port }: Served): Send => http2Client(port);
const targets: readonly Target[] = [
  { name: "JSON-RPC", make: toJsonRpc, judge: jsonRpc, send: h1, internal: [-32603], runs: 500 },
  { name: "HTTP+JSON", make: toRest, judge: rest, send: h1, internal: [500], runs: 500 },
  { name: "HTTP+JSON over HTTP/2", make: toRest, judge: rest, send: h2, internal: [500], runs: 150 },
  { name: "Connect", make: toConnect, judge: connect, send: h1, internal: ["internal", "unknown"], runs: 500 },
  { name: "gRPC-Web", make: toGrpcOf("application/grpc-web"), judge: grpcWeb, send: h1, internal: [2, 13], runs: 400 },
  {
    name: "gRPC on the HTTP port",
    make: toGrpcOf("application/grpc"),
    judge: grpc,
    send: h2,
    internal: [2, 13],
    runs: 400,
  },
  {
    name: "gRPC",
    make: toGrpcPort,
    judge: grpc,
    send: ({ grpcPort }) => http2Client(grpcPort),
    internal: [2, 13],
    runs: 400,
  },
];

describe.each(targets)("bad requests over $name", ({ make, judge, send, internal, runs }) => {
  it("are answered with well-formed errors, none of them internal [SRV-GEN-04 SRV-SEC-06]", async () => {
    const served = await serve({ push: { ...toHook, lookup: async () => [{ address: "127.0.0.1", family: 4 }] } });
    const known = await finishedTask(served);
    const request = asked.map((about) => replaced(about, '"t"', JSON.stringify(known))).chain(make);
    await fuzz(request, { served, exchange: send(served), judge, internal, runs });
  });
});
