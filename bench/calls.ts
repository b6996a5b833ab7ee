/** The calls of the bench as bytes, for every binding. */
import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { A2AService, Role, SendMessageRequestSchema } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { TestServer } from "./harness/child.js";
import { NUMBER, type Served, type WireCall } from "./protocol.js";

const { getTask, sendMessage, sendStreamingMessage, subscribeToTask } = A2AService.method;

/** The text that an answer must contain, and the number of tasks that the call can name, if it names a numbered one. */
export type Expected = Pick<WireCall, "expect" | "numbersBelow">;

const COMMON = { "a2a-version": "1.0", "user-agent": "bench" };

/** A call over HTTP/1.1. A header that is undefined is not sent. */
export function http1(
  port: number | undefined,
  verb: string,
  path: string,
  headers: object,
  body: Uint8Array,
  expected: Expected,
): WireCall {
  const all = { host: `127.0.0.1:${port}`, ...COMMON, ...headers };
  const length = body.length === 0 ? [] : [`content-length: ${body.length}`];
  const fields = Object.entries(all).filter(([, value]) => value !== undefined);
  const lines = [`${verb} ${path} HTTP/1.1`, ...fields.map((pair) => pair.join(": ")), ...length, "", ""];
  const request = Buffer.concat([Buffer.from(lines.join("\r\n")), body]).toString("base64");
  return { transport: "http1", port: port ?? 0, request, ...expected };
}

export const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));

function userMessage(text: string, contextId?: string): object {
  return { messageId: `message-${NUMBER}`, role: "ROLE_USER", parts: [{ text }], contextId };
}

/** A server that is called. */
export type Called = Pick<TestServer, "at">;

/** SendMessage over HTTP+JSON, in a context or without one. */
export function restSend({ at }: Called, text: string, expect: string, contextId?: string): WireCall {
  const body = json({ message: userMessage(text, contextId) });
  return http1(at.http, "POST", `${at.restPath}/message:send`, { "content-type": "application/json" }, body, {
    expect,
  });
}

/** Any GET over HTTP+JSON. */
export function restGet({ at }: Called, path: string, expected: Expected): WireCall {
  return http1(at.http, "GET", `${at.restPath}${path}`, {}, Buffer.alloc(0), expected);
}

function rpc({ http, rpcPath, token }: Served, method: string, params: object, expected: Expected): WireCall {
  const credentials = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const body = json({ jsonrpc: "2.0", id: 1, method, params });
  const accept = method === sendMessage.name ? "application/json" : "text/event-stream";
  const headers = { "content-type": "application/json", accept, ...credentials };
  return http1(http, "POST", rpcPath ?? "/", headers, body, expected);
}

/** SendMessage over JSON-RPC. */
export function rpcSend({ at }: Called, text: string, expect: string): WireCall {
  return rpc(at, sendMessage.name, { message: userMessage(text) }, { expect });
}

/** GetTask over JSON-RPC. */
export function rpcGet({ at }: Called, id: string, expected: Expected): WireCall {
  return rpc(at, getTask.name, { id }, expected);
}

/** SendStreamingMessage over JSON-RPC. */
export function rpcStream({ at }: Called, text: string, expect: string): WireCall {
  return rpc(at, sendStreamingMessage.name, { message: userMessage(text) }, { expect });
}

/** SubscribeToTask over JSON-RPC. */
export function rpcSubscribe({ at }: Called, id: string, expect: string): WireCall {
  return rpc(at, subscribeToTask.name, { id }, { expect });
}

/** A gRPC message: its length in front. */
export function framed<D extends DescMessage>(desc: D, message: MessageShape<D>): Buffer {
  const bytes = toBinary(desc, message);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

function sendRequest(text: string): MessageShape<typeof SendMessageRequestSchema> {
  const message = {
    messageId: `message-${NUMBER}`,
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } as const }],
  };
  return create(SendMessageRequestSchema, { message });
}

function grpc({ at }: Called, method: string, text: string, expect: string): WireCall {
  const headers = [["content-type", "application/grpc"], ["te", "trailers"], ...Object.entries(COMMON)] as [
    string,
    string,
  ][];
  const body = framed(SendMessageRequestSchema, sendRequest(text)).toString("base64");
  return { transport: "http2", port: at.grpc ?? 0, path: `/${A2AService.typeName}/${method}`, headers, body, expect };
}

/** SendMessage over gRPC. */
export function grpcSend(server: Called, text: string, expect: string): WireCall {
  return grpc(server, sendMessage.name, text, expect);
}

/** SendStreamingMessage over gRPC. */
export function grpcStream(server: Called, text: string, expect: string): WireCall {
  return grpc(server, sendStreamingMessage.name, text, expect);
}

/** SendMessage over Connect, with binary messages. */
export function connectSend({ at }: Called, text: string, expect: string): WireCall {
  const headers = { "content-type": "application/proto", "connect-protocol-version": "1" };
  const body = toBinary(SendMessageRequestSchema, sendRequest(text));
  return http1(at.http, "POST", `/${A2AService.typeName}/${sendMessage.name}`, headers, body, { expect });
}

/** SendMessage over Connect, with JSON. */
export function connectJsonSend({ at }: Called, text: string, expect: string): WireCall {
  const headers = { "content-type": "application/json", "connect-protocol-version": "1" };
  const body = json({ message: userMessage(text) });
  return http1(at.http, "POST", `/${A2AService.typeName}/${sendMessage.name}`, headers, body, { expect });
}

/** SendMessage over gRPC-Web. */
export function grpcWebSend({ at }: Called, text: string, expect: string): WireCall {
  const headers = { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" };
  const body = framed(SendMessageRequestSchema, sendRequest(text));
  return http1(at.http, "POST", `/${A2AService.typeName}/${sendMessage.name}`, headers, body, { expect });
}
