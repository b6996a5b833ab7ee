import { fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, it, vi } from "vitest";
import { A2AService } from "../../gen/a2a/v1/a2a_pb.js";
import { hook, toHook } from "../conformance/hook.js";
import { scaled } from "../support/soak.js";
import { connect, grpc, grpcWeb, type Judge } from "./answers.js";
import { finishedTask, fuzz, replaced } from "./fuzzing.js";
import { http1, http2Client, type RawRequest, type Send } from "./raw-http.js";
import { type Asked, envelope, mangled, mutated } from "./requests.js";
import { type Served, serve } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

/* The service of gRPC of A2A 0.3, for callers whose bytes have something wrong. */

const optional = { requiredKeys: [] as never[] };
const name = fc.constantFrom("tasks/t", "tasks/t/pushNotificationConfigs/c", "tasks/", "t", "tasks/ü", "");

const part = fc.oneof(
  fc.record({ text: fc.string({ unit: "grapheme", maxLength: 8 }) }),
  fc.record({ data: fc.record({ data: fc.constant({ a: [1, "x", null] }) }) }),
  fc.record({ file: fc.record({ fileWithBytes: fc.constantFrom("AAEC", ""), mimeType: fc.constant("a/b") }) }),
  fc.record({ file: fc.record({ fileWithUri: fc.constant("https://example.org/") }) }),
);
const message = fc.record({
  messageId: fc.constantFrom("m", "n"),
  role: fc.constantFrom("ROLE_USER", "ROLE_AGENT"),
  content: fc.array(part, { minLength: 1, maxLength: 3 }),
  metadata: fc.constant({ k: [1, "x", null] }),
});
const config = fc.record(
  {
    id: fc.constantFrom("c", ""),
    url: fc.constant(hook),
    token: fc.constant("secret"),
    authentication: fc.record({ schemes: fc.constantFrom([], ["Bearer"], ["a", "b"]), credentials: fc.constant("x") }),
  },
  { requiredKeys: ["url"] },
);
const send = fc.record(
  {
    request: message,
    configuration: fc.record(
      {
        blocking: fc.boolean(),
        historyLength: fc.nat(3),
        pushNotification: config,
        acceptedOutputModes: fc.constant(["a"]),
      },
      optional,
    ),
    metadata: fc.constant({ a: { b: 1 } }),
  },
  { requiredKeys: ["request"] },
);
const named = fc.record({ name });

const requests: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  SendMessage: send,
  SendStreamingMessage: send,
  GetTask: fc.record({ name, historyLength: fc.nat(2) }),
  CancelTask: named,
  TaskSubscription: named,
  CreateTaskPushNotificationConfig: fc.record({
    parent: name,
    configId: fc.constantFrom("c", ""),
    config: fc.record({ name, pushNotificationConfig: config }),
  }),
  GetTaskPushNotificationConfig: named,
  ListTaskPushNotificationConfig: fc.record({ parent: name, pageSize: fc.nat(3) }),
  GetAgentCard: fc.constant({}),
  DeleteTaskPushNotificationConfig: named,
};

/** A request that fits the contract of 0.3, to any of its methods. */
const asked: fc.Arbitrary<Asked> = fc
  .constantFrom(...A2AService.methods.map(({ name: rpc }) => rpc))
  .chain((rpc) => fc.record({ rpc: fc.constant(rpc), request: requests[rpc] as fc.Arbitrary<JsonObject> }));

function bytesOf({ rpc, request }: Asked): Buffer {
  const method = A2AService.methods.find(({ name: each }) => each === rpc) as (typeof A2AService.methods)[number];
  return Buffer.from(toBinary(method.input, fromJson(method.input, request)));
}

/** Fields that no encoder writes: unknown numbers, every wire type, endless varints, lengths beyond the input. */
const oddField: fc.Arbitrary<Buffer> = fc
  .record({
    // The fields that requests have, some that they have not, and 0, which is none.
    number: fc.constantFrom(0, 1, 2, 3, 4, 5, 15, 16, 1000, 19_000, 2 ** 28, 2 ** 29 - 1),
    type: fc.nat(7),
    value: fc.oneof(
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
      // Varints of 9 to 20 bytes, most of which are too long.
      fc.integer({ min: 8, max: 20 }).map((length) => Buffer.alloc(length, 0xff)),
      fc.integer({ min: 9, max: 10 }).map((length) => Buffer.concat([Buffer.alloc(length, 0x80), Buffer.from([1])])),
      // Lengths of 4 GiB, of 2 to the 63rd, and below zero.
      fc.constantFrom("ffffffff0f", "ffffffffffffffff7f", "ffffffffffffffffff01").map((hex) => Buffer.from(hex, "hex")),
      // Invalid UTF-8.
      fc.constantFrom("01ff", "03eda080", "04f8888080").map((hex) => Buffer.from(hex, "hex")),
    ),
  })
  .map(({ number, type, value }) => Buffer.concat([varint(number * 8 + type), value]));

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** Messages in messages, deeper than any stack: a struct in a struct, groups in groups. */
const deep: fc.Arbitrary<Buffer> = fc
  .record({ depth: fc.constantFrom(50, 101, 5_000), tag: fc.constantFrom(0x0a, 0x0b, 0x12) })
  .map(({ depth, tag }) => {
    let inner = Buffer.alloc(0);
    for (let i = 0; i < depth; i++) {
      inner = Buffer.concat([
        Buffer.from([tag]),
        ...(tag === 0x0b ? [inner, Buffer.from([0x0c])] : [varint(inner.length), inner]),
      ]);
    }
    return inner;
  });

function binary(about: Asked): fc.Arbitrary<Buffer> {
  const whole = bytesOf(about);
  return fc.oneof(
    { weight: 4, arbitrary: mangled(whole) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(oddField, fc.boolean())
        .map(([odd, isFirst]) => Buffer.concat(isFirst ? [odd, whole] : [whole, odd])),
    },
    { weight: 1, arbitrary: deep.map((bytes) => Buffer.concat([whole, bytes])) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constant(whole) },
  );
}

const json = ({ request }: Asked): fc.Arbitrary<Buffer> =>
  mutated(JSON.stringify(request)).map((text) => Buffer.from(text));

/** Envelopes as they should be, most of them; the others lie about their length, or are cut off. */
function framed(data: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const off = fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1, -1, 5e6, 4e9);
  return fc.tuple(data, off).map(([bytes, more]) => envelope(bytes, 0, Math.max(0, bytes.length + more)));
}

const streams = new Set(
  A2AService.methods.filter(({ methodKind }) => methodKind !== "unary").map(({ name: rpc }) => rpc),
);
const path = ({ rpc }: Asked): string => `/${A2AService.typeName}/${rpc}`;

type Make = (about: Asked) => fc.Arbitrary<RawRequest>;

const toGrpc =
  (base: string): Make =>
  (about) => {
    const make = (codec: string, data: fc.Arbitrary<Buffer>): fc.Arbitrary<RawRequest> =>
      framed(data).map((body) => ({
        path: path(about),
        headers: { "content-type": `${base}${codec}`, te: "trailers" },
        body,
      }));
    return base.endsWith("web")
      ? fc.oneof(make("+json", json(about)), make("+proto", binary(about)))
      : make("", binary(about));
  };

const toConnect: Make = (about) => {
  const isStream = streams.has(about.rpc);
  const make = (codec: string, data: fc.Arbitrary<Buffer>): fc.Arbitrary<RawRequest> =>
    (isStream ? framed(data) : data).map((body) => ({
      path: path(about),
      headers: { "content-type": `application/${isStream ? "connect+" : ""}${codec}`, "connect-protocol-version": "1" },
      body,
    }));
  return fc.oneof(make("json", json(about)), make("proto", binary(about)));
};

interface Target {
  readonly name: string;
  readonly make: Make;
  readonly judge: Judge;
  readonly send: (served: Served) => Send;
  /** Codes that say "the server is broken". */
  readonly internal: readonly (number | string)[];
}

const targets: readonly Target[] = [
  {
    name: "gRPC",
    make: toGrpc("application/grpc"),
    judge: grpc,
    send: ({ grpcPort }) => http2Client(grpcPort),
    internal: [2, 13],
  },
  {
    name: "gRPC on the HTTP port",
    make: toGrpc("application/grpc"),
    judge: grpc,
    send: ({ port }) => http2Client(port),
    internal: [2, 13],
  },
  {
    name: "gRPC-Web",
    make: toGrpc("application/grpc-web"),
    judge: grpcWeb,
    send: ({ port }) => http1(port),
    internal: [2, 13],
  },
  {
    name: "Connect",
    make: toConnect,
    judge: connect,
    send: ({ port }) => http1(port),
    internal: ["internal", "unknown"],
  },
];

describe.each(targets)("bad requests of 0.3 over $name", ({ make, judge, send: sendOver, internal }) => {
  it("are answered with well-formed errors, none of them internal", async () => {
    const served = await serve({ push: { ...toHook, lookup: async () => [{ address: "127.0.0.1", family: 4 }] } });
    const known = await finishedTask(served);
    const request = asked.map((about) => replaced(about, '"tasks/t', `"tasks/${known}`)).chain(make);
    await fuzz(request, {
      served,
      exchange: sendOver(served),
      judge,
      internal,
      runs: Number(process.env.FUZZ ?? scaled(60, 400)),
    });
  });
});
