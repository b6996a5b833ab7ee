import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../../src/agent/agent.js";
import { CallParameters } from "../../../src/client/calls/parameters.js";
import { nodePlatform } from "../../../src/client/node/platform.js";
import type { Platform, TransportSettings } from "../../../src/client/platform.js";
import { connectErrors, withConnectErrors } from "../../../src/client/transport/connect-errors.js";
import { jsonRpcTransport } from "../../../src/client/transport/jsonrpc.js";
import { restTransport } from "../../../src/client/transport/rest.js";
import { webPlatform } from "../../../src/client/web/platform.js";
import { createServer, type Server } from "../../../src/server/create-server.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import type { Setup } from "../../conformance/setups.js";

export type Rpc = Client<typeof A2AService>;

/** One way to call a server. */
export interface Way {
  readonly name: string;
  /** True for JSON over HTTP, which does not use the library's protocols. */
  readonly isJson: boolean;
  platform(): Platform;
  transport(platform: Platform, settings: TransportSettings): Transport;
  urlOf(server: Server): string;
}

const http = (server: Server): string => `http://127.0.0.1:${server.port}`;
const node = (): Platform => nodePlatform();
const web = (): Platform => webPlatform();

const over = (name: string, platform: () => Platform): Way[] => [
  { name: `${name}, JSON-RPC`, isJson: true, platform, transport: (p, s) => jsonRpcTransport(s, p.http), urlOf: http },
  { name: `${name}, HTTP+JSON`, isJson: true, platform, transport: (p, s) => restTransport(s, p.http), urlOf: http },
  { name: `${name}, Connect`, isJson: false, platform, transport: (p, s) => p.connect(s), urlOf: http },
  { name: `${name}, gRPC-Web`, isJson: false, platform, transport: (p, s) => p.grpcWeb(s), urlOf: http },
];

export const ways: readonly Way[] = [
  {
    name: "Node.js, gRPC",
    isJson: false,
    platform: node,
    transport: (p, s) => (p.grpc as NonNullable<Platform["grpc"]>)(s),
    urlOf: (server) => `127.0.0.1:${server.grpcPort}`,
  },
  ...over("Node.js", node),
  ...over("web", web),
];

const parameters = new CallParameters({ version: "1.0", older: undefined, tenant: "", extensions: [] });

const version: Interceptor = (next) => (request) => {
  if (!request.header.has("A2A-Version")) request.header.set("A2A-Version", "1.0");
  return next(request);
};

/** A client over one of the ways. */
export function clientOf(
  way: Way,
  url: string,
  more: Partial<TransportSettings> = {},
): { rpc: Rpc; platform: Platform; transport: Transport } {
  const platform = way.platform();
  // Calls with interceptors do not use `parameters`.
  const how =
    more.interceptors === undefined
      ? { parameters, interceptors: [] }
      : { interceptors: [...more.interceptors, connectErrors, version] };
  const transport = way.transport(platform, {
    maxAnswerBytes: 16 * 1024 * 1024,
    maxAnswerValues: 500_000,
    ...more,
    url,
    ...how,
  });
  return { rpc: createClient(A2AService, withConnectErrors(transport)), platform, transport };
}

export async function serve(agent: Agent, setup: Partial<Setup> = {}): Promise<Server> {
  return await createServer({
    ...setup,
    agent,
    limits: { shutdownGraceMs: 50, ...setup.limits },
    store: memoryStore(),
    host: "127.0.0.1",
    port: 0,
    grpcPort: 0,
  });
}
