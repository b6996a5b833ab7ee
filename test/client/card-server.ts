import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEachTest } from "../support/clean-up.js";

export interface Got {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface CardServer {
  readonly url: string;
  readonly got: readonly Got[];
}

const running: (() => void)[] = [];
afterEachTest(() => {
  for (const end of running.splice(0)) end();
});

/** Serves a listener on loopback until the test ends. */
export async function serveCards(listener: RequestListener): Promise<CardServer> {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    got.push({ path: request.url ?? "", headers: request.headers });
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  running.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got };
}

/** A minimal card as JSON. */
export function cardJson(more: object = {}): Record<string, unknown> {
  return {
    name: "Found",
    description: "Is found.",
    version: "1.0.0",
    supportedInterfaces: [{ url: "http://127.0.0.1:1", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: {},
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
    ...more,
  };
}
