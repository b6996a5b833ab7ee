import { create } from "@bufbuild/protobuf";
import { createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { A2AService, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type ClientCore, PendingQuestions } from "../../src/client/calls/core.js";
import { clientError } from "../../src/client/errors/errors.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { jsonRpcTransport } from "../../src/client/transport/jsonrpc.js";
import { restTransport } from "../../src/client/transport/rest.js";

/** The bindings that a client supports. */
export const clientBindings = ["JSONRPC", "HTTP+JSON", "CONNECT", "GRPC-WEB", "GRPC"] as const;

export type ClientBinding = (typeof clientBindings)[number];

export interface TestCore extends ClientCore {
  close(): Promise<void>;
}

/** A client's calls over one binding, without a card. `url` is that of the interface. */
export function coreOver(binding: ClientBinding, url: string, more: Partial<ClientCore> = {}): TestCore {
  const platform = nodePlatform({ plaintextGrpc: true });
  const version: Interceptor = (next) => (request) => {
    request.header.set("a2a-version", "1.0");
    return next(request);
  };
  const settings = { url, interceptors: [version], maxAnswerBytes: 64 * 1024 * 1024, maxAnswerValues: 500_000 };
  const transport = ((): Transport => {
    if (binding === "JSONRPC") return jsonRpcTransport(settings, platform.http);
    if (binding === "HTTP+JSON") return restTransport(settings, platform.http);
    if (binding === "CONNECT") return platform.connect(settings);
    if (binding === "GRPC-WEB") return platform.grpcWeb(settings);
    if (platform.grpc === undefined) throw new Error("There is no gRPC.");
    return platform.grpc(settings);
  })();
  return {
    rpc: withA2AErrors(transport),
    card: create(AgentCardSchema),
    asked: new PendingQuestions(),
    canResume: true,
    idempotent: true,
    canStream: true,
    backoff: { firstMs: 1, maxMs: 20, maxElapsedMs: 60_000, maxRetryAfterMs: 30_000 },
    ...more,
    close: () => platform.close(),
  };
}

type Method = (request: never, options: never) => Promise<unknown> | AsyncIterable<unknown>;

function withA2AErrors(transport: Transport): ClientCore["rpc"] {
  const client = createClient(A2AService, transport) as unknown as Record<string, Method>;
  const methods = A2AService.methods.map(({ localName, methodKind }) => {
    const method = client[localName] as Method;
    const unary = async (request: never, options: never) => {
      try {
        return await method(request, options);
      } catch (error) {
        throw clientError(error);
      }
    };
    const streaming = async function* (request: never, options: never) {
      try {
        yield* method(request, options) as AsyncIterable<unknown>;
      } catch (error) {
        throw clientError(error);
      }
    };
    return [localName, methodKind === "unary" ? unary : streaming];
  });
  return Object.fromEntries(methods) as ClientCore["rpc"];
}
