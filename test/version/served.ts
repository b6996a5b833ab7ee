import type { Agent } from "../../src/agent/agent.js";
import { composeNode, type NodeComponents } from "../../src/server/compose-node.js";
import type { A2AOptions } from "../../src/server/options.js";
import { resolveOptions } from "../../src/server/resolve-options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { execute } from "./cases/agent.js";

export const agent: Agent = {
  card: { name: "Probe", description: "Does what the cases say.", version: "1.0.0", defaultInputModes: ["*/*"] },
  responds: "either",
  execute,
};

export interface Sent {
  readonly path?: string;
  readonly verb?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer, with the JSON of its body or of its events. */
export interface Got {
  readonly status: number;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  readonly json: any;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  readonly events: any[];
  readonly ids: (string | undefined)[];
  readonly text: string;
  readonly header: (name: string) => string | null;
}

/** A server without sockets, as its options say. */
export class Served {
  readonly components: NodeComponents;

  constructor(options: Partial<A2AOptions> = {}) {
    const one = options.agents === undefined ? { agent } : {};
    this.components = composeNode(resolveOptions({ ...one, store: memoryStore(), ...options } as A2AOptions, false));
  }

  async send({ path = "/", body, headers, verb = body === undefined ? "GET" : "POST" }: Sent): Promise<Got> {
    const init: RequestInit = { method: verb, headers: { "content-type": "application/json", ...headers } };
    if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
    const response = await this.components.fetch(new Request(`http://localhost${path}`, init));
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
    const ids = [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
    const json = type.includes("json") && text !== "" ? JSON.parse(text) : undefined;
    return { status: response.status, type, events, ids, json, text, header: (name) => response.headers.get(name) };
  }

  /** A call of JSON-RPC. */
  rpc(method: string, params?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Got> {
    return this.send({ body: { jsonrpc: "2.0", id: 1, method, params }, headers });
  }

  close(): Promise<void> {
    return this.components.lifecycle.close(0);
  }
}

/** A message of 0.3 over JSON-RPC, as params. */
export const said = (text: string, more: object = {}) => ({
  message: { kind: "message", role: "user", messageId: "m", parts: [{ kind: "text", text }], ...more },
});

/** The same of 1.0. */
export const said1 = (text: string, more: object = {}) => ({
  message: { messageId: "m", role: "ROLE_USER", parts: [{ text }], ...more },
});
