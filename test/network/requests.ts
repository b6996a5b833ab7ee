import { fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { hook } from "../conformance/hook.js";

/** A name of an rpc and a request to it. */
export interface Asked {
  readonly rpc: string;
  readonly request: JsonObject;
}

const optional = { requiredKeys: [] as never[] };
const id = fc.constantFrom("t", "nope", "a/b", "ü", "%");

const part = fc.oneof(
  fc.record({ text: fc.string({ unit: "grapheme", maxLength: 8 }) }),
  fc.record({ data: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<never> }),
  fc.record({ raw: fc.constantFrom("AAEC", ""), mediaType: fc.constant("application/octet-stream") }),
  fc.record({ url: fc.constant("https://example.org/"), filename: fc.constant("x") }),
);
const message = fc.record({
  messageId: fc.constantFrom("m", "n"),
  role: fc.constant("ROLE_USER"),
  parts: fc.array(part, { minLength: 1, maxLength: 3 }),
  metadata: fc.constant({ k: [1, "x", null] }),
});
const configuration = fc.record(
  { historyLength: fc.nat(3), acceptedOutputModes: fc.constant(["text/plain"]), returnImmediately: fc.boolean() },
  optional,
);
const send = fc.record({ message, configuration, metadata: fc.constant({ a: { b: 1 } }) });
const authentication = fc.record({ scheme: fc.constant("Bearer"), credentials: fc.constant("secret") });
const config = fc.record({
  taskId: id,
  id,
  url: fc.constant(hook),
  token: fc.constantFrom("", "secret"),
  authentication,
});

const requests: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  SendMessage: send,
  SendStreamingMessage: send,
  GetTask: fc.record({ id, historyLength: fc.nat(2) }),
  ListTasks: fc.record(
    {
      contextId: id,
      status: fc.constantFrom("TASK_STATE_COMPLETED", "TASK_STATE_WORKING"),
      pageSize: fc.integer({ min: 1, max: 3 }),
      historyLength: fc.nat(2),
      statusTimestampAfter: fc.constant("2025-10-28T10:30:00.000Z"),
      includeArtifacts: fc.boolean(),
    },
    optional,
  ),
  CancelTask: fc.record({ id, metadata: fc.constant({}) }),
  SubscribeToTask: fc.record({ id }),
  CreateTaskPushNotificationConfig: config,
  GetTaskPushNotificationConfig: fc.record({ taskId: id, id }),
  ListTaskPushNotificationConfigs: fc.record({ taskId: id, pageSize: fc.nat(3) }),
  DeleteTaskPushNotificationConfig: fc.record({ taskId: id, id }),
  GetExtendedAgentCard: fc.constant({}),
};

/** A request that fits its contract, to any rpc. */
export const asked: fc.Arbitrary<Asked> = fc
  .constantFrom(...A2AService.methods.map(({ name }) => name))
  .chain((rpc) => fc.record({ rpc: fc.constant(rpc), request: requests[rpc] as fc.Arbitrary<JsonObject> }));

/** Texts of JSON, or nearly so, that stand where something else belongs. */
const wrong = fc.constantFrom(
  ...["null", "true", "0", "-1", "1.5", "1e999", "-0", "9007199254740993", "2147483648", "1e-400", '""', '"x"'],
  ...['"\\ud800"', '"\\udc00x"', '"\\u0000"', "[]", "[[]]", "{}", '{"":1}', '{"__proto__":{"x":1}}', '{"case":"text"}'],
  ...["NaN", "undefined", "'x'", "[1,]", "{,}", "\u0001", `${"9".repeat(400)}`, `${"[".repeat(300)}${"]".repeat(300)}`],
  `${'{"a":'.repeat(300)}1${"}".repeat(300)}`,
  `"${"x".repeat(3000)}"`,
  `[${"1,".repeat(2000)}1]`,
);
const member = fc.constantFrom(
  ...['"__proto__":{"x":1}', '"constructor":1', '"id":"again"', '"message":null', '"parts":[]', '"tenant":5'],
  ...['"text":"a","data":1', '"toString":{}', '"":0', '"hasOwnProperty":1', '"role":99', '"$typeName":"x"'],
);

/** The text of a request with one thing or a few changed: a value, a member, a byte. */
export function mutated(text: string): fc.Arbitrary<string> {
  const places = [...text.matchAll(/"(?:[^"\\]|\\.)*"(?=[,\]}])|\d+(?=[,\]}])|\{\}|true|false|null/g)];
  const opens = [...text.matchAll(/\{/g)];
  const place = (list: RegExpExecArray[]) => fc.constantFrom(...(list.length > 0 ? list : [...text.matchAll(/^/g)]));
  const cut = (at: RegExpExecArray, put: string, length = at[0].length): string =>
    text.slice(0, at.index) + put + text.slice(at.index + length);
  return fc.oneof(
    { weight: 6, arbitrary: fc.tuple(place(places), wrong).map(([at, put]) => cut(at, put)) },
    { weight: 3, arbitrary: fc.tuple(place(opens), member).map(([at, put]) => cut(at, `{${put},`)) },
    { weight: 1, arbitrary: fc.nat(text.length).map((length) => text.slice(0, length)) },
    { weight: 1, arbitrary: fc.constant(text) },
  );
}

/** Bytes with a few of them changed, left out or put in. */
export function mangled(bytes: Uint8Array): fc.Arbitrary<Buffer> {
  const change = fc.record({
    at: fc.nat(Math.max(1, bytes.length)),
    cut: fc.nat(3),
    put: fc.uint8Array({ maxLength: 4 }),
  });
  return fc.array(change, { maxLength: 3 }).map((changes) => {
    let all = Buffer.from(bytes);
    for (const { at, cut, put } of changes) all = Buffer.concat([all.subarray(0, at), put, all.subarray(at + cut)]);
    return all;
  });
}

/** The bytes of a request in binary. */
export function bytesOf({ rpc, request }: Asked): Uint8Array {
  const method = A2AService.methods.find(({ name }) => name === rpc);
  if (method === undefined) throw new Error(`There is no rpc ${rpc}.`);
  return toBinary(method.input, fromJson(method.input, request));
}

/** An envelope of gRPC, gRPC-Web and Connect. */
export function envelope(data: Uint8Array | string, flags = 0, length = Buffer.byteLength(data)): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(data as Uint8Array)]);
}
