import { connect } from "node:http2";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { endStreamFromJson, errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { A2AService, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { serve } from "./support.js";

const json = Buffer.from('{"id":"a"}');

function envelope(bytes: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/**
 * Requests and errors of each protocol: media type, name of the compression header, framing, and place of the error.
 */
const protocols = {
  connect: {
    type: "application/json",
    method: "GetTask",
    encoding: "content-encoding",
    frame: (bytes: Uint8Array) => bytes,
    errorIn: (body: Buffer) => errorFromJsonBytes(body, undefined, new ConnectError("", Code.Unknown)),
  },
  "connect stream": {
    type: "application/connect+json",
    method: "SubscribeToTask",
    encoding: "connect-content-encoding",
    frame: envelope,
    errorIn: (body: Buffer) => endStreamFromJson(body.subarray(5)).error,
  },
  grpc: {
    type: "application/grpc+json",
    method: "GetTask",
    encoding: "grpc-encoding",
    frame: envelope,
    errorIn: (_: Buffer, head: Headers) => findTrailerError(head),
  },
  "grpc-web": {
    type: "application/grpc-web+json",
    method: "GetTask",
    encoding: "grpc-encoding",
    frame: envelope,
    errorIn: (body: Buffer, head: Headers) => findTrailerError(body.length > 0 ? trailerParse(body.subarray(5)) : head),
  },
} as const;

type Name = keyof typeof protocols;

/** A request that is refused before it reaches a method, with the error's reason and its code in Connect. */
interface Case {
  readonly what: string;
  readonly of?: readonly Name[];
  readonly path?: string;
  readonly encoding?: string;
  readonly timeout?: string;
  readonly body?: (name: Name) => Uint8Array;
  readonly reason: string;
  readonly code: Code;
}

const enveloped = ["connect stream", "grpc", "grpc-web"] as const;
const plain =
  (text: string | Uint8Array, flags = 0) =>
  (name: Name) =>
    protocols[name].frame(Buffer.from(text), flags);

const cases: readonly Case[] = [
  { what: "malformed JSON", body: plain("{bad"), reason: "INVALID_PARAMS", code: Code.InvalidArgument },
  { what: "a member twice", body: plain('{"id":"a","id":"b"}'), reason: "INVALID_PARAMS", code: Code.InvalidArgument },
  {
    what: "too many bytes",
    body: plain(Buffer.alloc(3_000)),
    reason: "REQUEST_TOO_LARGE",
    code: Code.ResourceExhausted,
  },
  {
    what: "too many bytes when decompressed",
    encoding: "gzip",
    body: plain(gzipSync(Buffer.alloc(30_000)), 1),
    reason: "REQUEST_TOO_LARGE",
    code: Code.ResourceExhausted,
  },
  {
    what: "bytes that are not compressed",
    encoding: "gzip",
    body: plain(json, 1),
    reason: "INVALID_PARAMS",
    code: Code.InvalidArgument,
  },
  { what: "an unknown compression", encoding: "zip", reason: "INVALID_REQUEST", code: Code.Unimplemented },
  {
    what: "a compressed message of no compression",
    of: enveloped,
    body: plain(json, 1),
    reason: "INVALID_REQUEST",
    code: Code.Internal,
  },
  { what: "unknown flags", of: enveloped, body: plain(json, 64), reason: "INVALID_PARAMS", code: Code.InvalidArgument },
  {
    what: "half an envelope",
    of: enveloped,
    body: () => envelope(json).subarray(0, 9),
    reason: "INVALID_PARAMS",
    code: Code.InvalidArgument,
  },
  {
    what: "no message",
    of: enveloped,
    body: () => Buffer.alloc(0),
    reason: "INVALID_REQUEST",
    code: Code.Unimplemented,
  },
  {
    what: "two messages",
    of: enveloped,
    body: () => Buffer.concat([envelope(json), envelope(json)]),
    reason: "INVALID_REQUEST",
    code: Code.Unimplemented,
  },
  { what: "a malformed timeout", timeout: "soon", reason: "INVALID_REQUEST", code: Code.InvalidArgument },
];

type Posted = { readonly head: Headers; readonly body: Buffer };

async function post(url: string, headers: Headers, body: Uint8Array): Promise<Posted> {
  const answer = await fetch(url, { method: "POST", headers, body: Buffer.from(body) });
  return { head: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
}

/** Posts over HTTP/2. `head` also has the answer's trailers. */
async function postH2(url: string, headers: Headers, body: Uint8Array): Promise<Posted> {
  const { origin, pathname } = new URL(url);
  const session = connect(origin);
  try {
    const request = session.request({ ":method": "POST", ":path": pathname, ...Object.fromEntries(headers) });
    const head = new Headers();
    const note = (fields: object): void => {
      for (const [name, value] of Object.entries(fields)) if (!name.startsWith(":")) head.set(name, String(value));
    };
    request.on("response", note).on("trailers", note).end(body);
    return { head, body: await buffer(request) };
  } finally {
    session.close();
  }
}

describe.each(Object.keys(protocols) as Name[])("an error of %s before its call begins", (name) => {
  const { type, method, encoding, frame, errorIn } = protocols[name];

  it.each(cases.filter(({ of = Object.keys(protocols) }) => of.includes(name)))(
    "has ErrorInfo for $what",
    async ({ encoding: compression, timeout, body = () => frame(json), reason, code }) => {
      const { h1, h2 } = await serve(() => create(TaskSchema), { maxRequestBytes: 2_000 });
      const headers = new Headers({ "content-type": type });
      if (compression !== undefined) headers.set(encoding, compression);
      if (timeout !== undefined) headers.set(name.startsWith("grpc") ? "grpc-timeout" : "connect-timeout-ms", timeout);
      const path = `/${A2AService.typeName}/${method}`;
      const isGrpc = name === "grpc";
      const answer = await (isGrpc ? postH2 : post)(`${isGrpc ? h2 : h1}${path}`, headers, body(name));
      const error = errorIn(answer.body, answer.head);
      expect(error?.code).toBe(code);
      expect(error?.rawMessage).not.toBe("");
      expect(error?.findDetails(ErrorInfoSchema)).toMatchObject([{ reason }]);
    },
  );
});
