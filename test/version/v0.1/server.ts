import type { Agent } from "../../../src/agent/agent.js";
import { composeNode, type NodeComponents } from "../../../src/server/compose-node.js";
import type { A2AOptions } from "../../../src/server/options.js";
import { resolveOptions } from "../../../src/server/resolve-options.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { servedVersions } from "../../../src/version/versions.js";
import { afterEachTest } from "../../support/clean-up.js";

type Json = Record<string, unknown>;

/** Answer to a request. */
export interface Answer {
  readonly status: number;
  readonly json: Json;
  /** Payloads of a stream, in order, with the `id:` of each. */
  readonly events: readonly Json[];
  readonly ids: readonly string[];
}

const opened: NodeComponents[] = [];
afterEachTest(async () => {
  for (const each of opened.splice(0)) await each.lifecycle.close(0);
});

/** A server whose callers name themselves, with calls in any version. */
export class Spoken {
  readonly components: NodeComponents;
  #requests = 0;

  constructor(agent: Omit<Agent, "card">, options: Partial<A2AOptions> = {}) {
    const card = { name: "Probe", description: "Answers.", version: "1.0.0", skills: [] };
    // An agent that makes no tasks of its own can send no notifications.
    const pushNotifications = agent.responds !== "message";
    const settings = resolveOptions(
      {
        agent: { ...agent, card: { ...card, capabilities: { streaming: true, pushNotifications } } },
        store: memoryStore(),
        authenticator: { authenticate: (call) => ({ owner: call.header("x-owner") ?? "ada" }) },
        ...(pushNotifications && { push: { allow: ["127.0.0.1"], allowHttp: true, ports: [9] } }),
        ...options,
      },
      false,
    );
    const versions = servedVersions.only(["1.0", "0.3", "0.2", "0.1"]);
    this.components = composeNode({
      ...settings,
      versions: options.versions === undefined ? versions : settings.versions,
    });
    opened.push(this.components);
  }

  /** One request of JSON-RPC, in the version of its header or of its method. */
  async call(method: string, params: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#requests, method, params });
    const response = await this.open(body, headers);
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    const payloads = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as Json);
    const events = payloads.map(({ result }) => result as Json);
    const ids = [...text.matchAll(/^id: (.*)$/gm)].map(([, id = ""]) => id);
    // An error that opens a stream is its one event.
    const json = type.includes("json") ? (JSON.parse(text) as Json) : (payloads.find(({ error }) => error) ?? {});
    return { status: response.status, json, events, ids };
  }

  open(body: string, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body };
    return this.components.fetch(new Request("http://localhost/", { ...init, ...(signal && { signal }) }));
  }

  /** The result of a call that succeeds. */
  async result(method: string, params: unknown, headers: Record<string, string> = {}): Promise<Json> {
    const { json } = await this.call(method, params, headers);
    if (json.result === undefined) throw new Error(`${method}: ${JSON.stringify(json)}`);
    return json.result as Json;
  }

  /** The code of the error of one that does not. */
  async code(method: string, params: unknown, headers: Record<string, string> = {}): Promise<unknown> {
    const { json } = await this.call(method, params, headers);
    return (json.error as Json | undefined)?.code;
  }
}

export const v1 = { "a2a-version": "1.0" };
export const v03 = { "a2a-version": "0.3" };

/** Params of a send of 0.1. */
export const say = (id: string, text: string, more: Json = {}): Json => ({
  id,
  message: { role: "user", parts: [{ type: "text", text }] },
  ...more,
});

/** Params of a send of 1.0. */
export const sayNow = (taskId: string, text: string): Json => ({
  message: { messageId: `m-${Math.random()}`, role: "ROLE_USER", parts: [{ text }], taskId },
});

/** Params of a send of 0.3. */
export const saidIn03 = (taskId: string, text: string): Json => ({
  message: { messageId: `m-${Math.random()}`, role: "user", kind: "message", parts: [{ kind: "text", text }], taskId },
});
