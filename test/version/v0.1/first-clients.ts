import { createHash } from "node:crypto";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { createRemoteJWKSet, jwtVerify } from "jose";
import type { Agent } from "../../../src/agent/agent.js";
import { createServer, type Server } from "../../../src/server/create-server.js";
import { memoryStore } from "../../../src/store/memory/index.js";

type Json = Record<string, unknown>;

/** An error of JSON-RPC. */
export class RpcError extends Error {
  readonly code: unknown;

  constructor({ code, message }: Json) {
    super(String(message));
    this.code = code;
  }
}

/** Calls a server as the first JavaScript client of 0.1 did, whose habits these are. */
export class FirstJavaScriptClient {
  readonly #url: string;

  constructor(url: string) {
    // It has no slash at the end of its URL.
    this.#url = url.replace(/\/$/, "");
  }

  #post(method: string, params: Json, accept: string): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: crypto.randomUUID(), method, params });
    return fetch(this.#url, { method: "POST", headers: { "content-type": "application/json", accept }, body });
  }

  async call(method: string, params: Json): Promise<Json> {
    const response = await this.#post(method, params, "application/json");
    const { jsonrpc, result, error } = (await response.json()) as Json;
    if (jsonrpc !== "2.0") throw new Error("no response of JSON-RPC");
    if (error !== undefined) throw new RpcError(error as Json);
    return result as Json;
  }

  /** Reads a stream: it splits it at empty lines, and takes what follows `data: ` for one JSON text; other blocks do not count. */
  async *stream(method: string, params: Json): AsyncGenerator<Json> {
    const response = await this.#post(method, params, "text/event-stream");
    if (!response.ok || response.body === null) throw new Error(`HTTP error ${response.status}`);
    let buffer = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (buffer + chunk).replace(/\r/g, "").split("\n\n");
      buffer = blocks.pop() ?? "";
      for (const block of blocks) {
        if (!block.startsWith("data: ")) continue;
        const { jsonrpc, result, error } = JSON.parse(block.slice("data: ".length).trim()) as Json;
        if (jsonrpc !== "2.0") continue;
        if (error !== undefined) throw new RpcError(error as Json);
        yield result as Json;
      }
    }
  }
}

/** Sends what the first Python client sends: every member is there, and null where nothing is said. */
export function pythonParams(id: string, text: string, more: Json = {}): Json {
  const part = { type: "text", name: null, text, metadata: null };
  return {
    id,
    sessionId: "session",
    message: { role: "user", parts: [part], metadata: null },
    acceptedOutputModes: ["text"],
    pushNotification: null,
    historyLength: null,
    metadata: null,
    ...more,
  };
}

/** A notification as the client reads it. */
export interface Judged {
  readonly task: Json;
  /** Undefined if the notification comes from the agent. */
  readonly fault: string | undefined;
  readonly authorization: string | undefined;
}

/**
 * Receives notifications as the first Python client did: it has the keys of the agent, and verifies a JWT by RS256, whose claims are the
 * time and the digest of the body, which it reads and writes again.
 */
export class FirstReceiver {
  readonly judged: Judged[] = [];
  readonly #server: http.Server;

  private constructor(server: http.Server) {
    this.#server = server;
  }

  static async open(agentUrl: () => string): Promise<FirstReceiver> {
    const server = http.createServer();
    const receiver = new FirstReceiver(server);
    server.on("request", async (request: http.IncomingMessage, response: http.ServerResponse) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of request) chunks.push(chunk as Uint8Array);
      const task = JSON.parse(Buffer.concat(chunks).toString()) as Json;
      const { authorization } = request.headers;
      const fault = await faultOf(authorization, task, agentUrl()).catch((error: unknown) => String(error));
      receiver.judged.push({ task, fault, authorization });
      response.writeHead(fault === undefined ? 200 : 401).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/notify`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

/** Serves an agent in memory, which may notify the returned receiver. */
export async function serveFirst(agent: Agent): Promise<{ server: Server; receiver: FirstReceiver }> {
  const receiver = await FirstReceiver.open(() => server.url);
  const server = await createServer({
    agent,
    store: memoryStore(),
    port: 0,
    grpcPort: false,
    push: { allow: ["127.0.0.1"], allowHttp: true, ports: [receiver.port] },
    limits: { shutdownGraceMs: 50 },
  });
  return { server, receiver };
}

async function faultOf(authorization: string | undefined, task: Json, agentUrl: string): Promise<string | undefined> {
  if (!authorization?.startsWith("Bearer ")) return "Invalid authorization header";
  const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", agentUrl));
  const { payload } = await jwtVerify(authorization.slice("Bearer ".length), keys, {
    algorithms: ["RS256"],
    requiredClaims: ["iat", "request_body_sha256"],
    maxTokenAge: "5 minutes",
  });
  const digest = createHash("sha256").update(JSON.stringify(task)).digest("hex");
  return digest === payload.request_body_sha256 ? undefined : "Invalid request body";
}
