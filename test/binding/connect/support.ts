import * as http from "node:http";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import type { Transport } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { type ConnectBinding, createConnectBinding } from "../../../src/binding/connect/binding.js";
import { defaultLimits, type Limits } from "../../../src/core/limits.js";
import { InboundBudget } from "../../../src/http/inbound-budget.js";
import type { NodeServerRequest, NodeServerResponse } from "../../../src/http/node/types.js";
import type { HttpResponse } from "../../../src/http/response.js";
import type { Invocation } from "../../../src/service/invoke.js";
import { servedVersions } from "../../../src/version/versions.js";
import { handlerOf } from "../../support/binding-handler.js";
import { type Answering, cleanup, type Line, recordingLogger } from "../grpc/support.js";

export interface Served {
  readonly binding: ConnectBinding;
  readonly lines: Line[];
  /** HTTP/1.1. */
  readonly h1: string;
  /** Cleartext HTTP/2. */
  readonly h2: string;
  /** Paths of requests whose response has closed. */
  readonly handled: string[];
  /** Answers of the binding, in the order of the requests. */
  readonly answers: Promise<HttpResponse>[];
}

/** Serves the binding below `/mount` on two ports. `answering` answers every method. */
export async function serve(answering: Answering, limits: Partial<Limits> = {}): Promise<Served> {
  const { logger, lines } = recordingLogger();
  const inboundBudget = new InboundBudget({ limits: { ...defaultLimits, ...limits } });
  const shared = { versions: servedVersions, limits: { ...defaultLimits, ...limits }, inboundBudget, logger };
  const compressions = [compressionGzip, compressionBrotli];
  const options = { ...shared, invoke: async (invocation: Invocation) => answering(invocation) };
  const binding = createConnectBinding(options, { compressions });
  const handled: string[] = [];
  const answers: Promise<HttpResponse>[] = [];
  const handler = handlerOf(binding, logger, (answer) => answers.push(answer), "/mount");
  const listener = (request: NodeServerRequest, response: NodeServerResponse): void => {
    const path = (request.url ?? "").split("?", 1)[0]?.replace(/^\/mount/, "") ?? "";
    response.once("close", () => handled.push(path));
    handler(request, response, () => {
      response.writeHead(418);
      response.end();
    });
  };
  const h1 = await listen(http.createServer(listener));
  const h2 = await listen(http2.createServer(listener));
  return { binding, lines, h1: `${h1}/mount`, h2: `${h2}/mount`, handled, answers };
}

export async function listen(server: http.Server | http2.Http2Server): Promise<string> {
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session: http2.ServerHttp2Session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanup(() => {
    server.close();
    if (server instanceof http.Server) server.closeAllConnections();
    for (const session of sessions) session.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Every supported combination of protocol, codec and HTTP version. */
export const wires: [string, { binding: string; json: boolean }, (served: { h1: string; h2: string }) => Transport][] =
  [
    ["Connect, JSON, HTTP/1.1", { binding: "connect", json: true }, ({ h1 }) => connectTransport(h1, "1.1", false)],
    ["Connect, JSON, HTTP/2", { binding: "connect", json: true }, ({ h2 }) => connectTransport(h2, "2", false)],
    ["Connect, binary, HTTP/1.1", { binding: "connect", json: false }, ({ h1 }) => connectTransport(h1, "1.1", true)],
    ["Connect, binary, HTTP/2", { binding: "connect", json: false }, ({ h2 }) => connectTransport(h2, "2", true)],
    [
      "gRPC-Web, binary, HTTP/1.1",
      { binding: "grpc-web", json: false },
      ({ h1 }) => createGrpcWebTransport({ baseUrl: h1, httpVersion: "1.1" }),
    ],
    [
      "gRPC-Web, JSON, HTTP/2",
      { binding: "grpc-web", json: true },
      ({ h2 }) => createGrpcWebTransport({ ...over2(h2), httpVersion: "2", useBinaryFormat: false }),
    ],
    ["gRPC, binary, HTTP/2", { binding: "grpc", json: false }, ({ h2 }) => createGrpcTransport(over2(h2))],
    [
      "gRPC, JSON, HTTP/2",
      { binding: "grpc", json: true },
      ({ h2 }) => createGrpcTransport({ ...over2(h2), useBinaryFormat: false }),
    ],
  ];

export function connectTransport(baseUrl: string, httpVersion: "1.1" | "2", useBinaryFormat: boolean): Transport {
  if (httpVersion === "1.1") return createConnectTransport({ baseUrl, httpVersion, useBinaryFormat });
  return createConnectTransport({ ...over2(baseUrl), httpVersion, useBinaryFormat });
}

function over2(baseUrl: string): { baseUrl: string; sessionManager: Http2SessionManager } {
  const sessionManager = new Http2SessionManager(baseUrl);
  cleanup(() => sessionManager.abort());
  return { baseUrl, sessionManager };
}
