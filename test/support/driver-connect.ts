import * as http from "node:http";
import type { DescMethod, DescMethodStreaming, DescMethodUnary, JsonObject, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError, type Transport } from "@connectrpc/connect";
import type { CommonTransportOptions } from "@connectrpc/connect/protocol";
import { createTransport as createConnectProtocol } from "@connectrpc/connect/protocol-connect";
import { createTransport as createGrpcWebProtocol } from "@connectrpc/connect/protocol-grpc-web";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { Address, BindingName, CallOptions, Wire } from "./driver.js";
import { messageOf, normalOf } from "./proto-json.js";
import { detailOf, statusName, WireFailure } from "./wire-error.js";

/** The Connect protocol with JSON, over HTTP/2. */
export function connectWire({ url }: Address): Wire {
  const sessionManager = new Http2SessionManager(url);
  const transport = createConnectTransport({ baseUrl: url, httpVersion: "2", sessionManager, useBinaryFormat: false });
  return wireOf("connect", transport, () => sessionManager.abort());
}

/** gRPC-Web in binary, over HTTP/1.1. */
export function grpcWebWire({ url }: Address): Wire {
  const agent = new http.Agent({ keepAlive: true });
  const transport = createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1", nodeOptions: { agent } });
  return wireOf("grpc-web", transport, () => agent.destroy());
}

/** Connect and gRPC-Web through no connection. */
export function fetchWires({ url: baseUrl, fetch }: Address): Readonly<Record<"connect" | "grpc-web", () => Wire>> {
  if (fetch === undefined) throw new Error("There is nobody to take requests.");
  const options: CommonTransportOptions = {
    baseUrl,
    httpClient: async ({ body = [], header, ...request }) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of body) pieces.push(piece);
      const init = { ...request, headers: header, body: request.method === "GET" ? null : Buffer.concat(pieces) };
      const response = await fetch(new Request(request.url, init as RequestInit));
      const read = piecesOf(response);
      return { status: response.status, header: response.headers, body: read, trailer: new Headers() };
    },
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 1024,
    readMaxBytes: 0xffffffff,
    writeMaxBytes: 0xffffffff,
    useBinaryFormat: false,
  };
  const binary = { ...options, useBinaryFormat: true };
  return {
    connect: () => wireOf("connect", createConnectProtocol(options), () => {}),
    "grpc-web": () => wireOf("grpc-web", createGrpcWebProtocol(binary), () => {}),
  };
}

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body !== null) yield* body as unknown as AsyncIterable<Uint8Array>;
}

/** gRPC on the HTTP port, over HTTP/2. */
export function grpcHttpWire({ url }: Address): Wire {
  const sessionManager = new Http2SessionManager(url);
  const transport = createGrpcTransport({ baseUrl: url, sessionManager });
  return wireOf("grpc-http", transport, () => sessionManager.abort());
}

function wireOf(name: BindingName, transport: Transport, close: () => void): Wire {
  return {
    name,
    close,
    async unary(method, request, options) {
      const { signal, timeoutMs } = options;
      const input = messageOf(method.input, request);
      try {
        const response = await transport.unary(method as DescMethodUnary, signal, timeoutMs, headersOf(options), input);
        const headers = { ...Object.fromEntries(response.header), ...Object.fromEntries(response.trailer) };
        return { message: normalOf(method.output, response.message), headers };
      } catch (error) {
        throw failureOf(error);
      }
    },
    async stream(method, request, options) {
      const { signal, timeoutMs } = options;
      const input = only(messageOf(method.input, request));
      try {
        const response = await transport.stream(
          method as DescMethodStreaming,
          signal,
          timeoutMs,
          headersOf(options),
          input,
        );
        return { headers: Object.fromEntries(response.header), messages: messagesOf(method, response.message) };
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}

async function* only(message: Message): AsyncGenerator<Message> {
  yield message;
}

async function* messagesOf(method: DescMethod, messages: AsyncIterable<Message>): AsyncGenerator<JsonObject> {
  try {
    for await (const message of messages) yield normalOf(method.output, message);
  } catch (error) {
    throw failureOf(error);
  }
}

function failureOf(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  const details = error.details.map((detail) =>
    detailOf(
      "desc" in detail
        ? anyPack(detail.desc, create(detail.desc, detail.value))
        : create(AnySchema, { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value }),
    ),
  );
  const wire = { native: error.code, status: statusName(error.code), message: error.rawMessage, details };
  return new WireFailure(wire, Object.fromEntries(error.metadata));
}

function headersOf({ headers = {} }: CallOptions): Headers {
  const out = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value === null) continue;
    for (const one of typeof value === "string" ? [value] : value) out.append(name, one);
  }
  return out;
}
