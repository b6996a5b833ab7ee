import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import { apiKeyScheme } from "../../src/auth/api-key.js";
import { composeNode } from "../../src/server/compose-node.js";
import { createA2A } from "../../src/server/create-a2a.js";
import type { A2AOptions, ServerOptions } from "../../src/server/options.js";
import { resolveOptions } from "../../src/server/resolve-options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { Pattern, Request } from "./cases/case.js";
import { exchange, type Outcome } from "./cases/exchange.js";
import { openWorld, type World } from "./cases/world.js";

/** An agent whose answers contain its name. */
function named(name: string, more: Partial<Agent> = {}): Agent {
  return {
    card: { name, description: "Says who it is.", version: "1.0.0" },
    async *execute(turn) {
      yield artifact({ text: `${name}: ${turn.text}` });
      yield turn.text === "ask" ? inputRequired("What?") : completed();
    },
    ...more,
  };
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(options: Partial<ServerOptions>): Promise<World> {
  const world = await openWorld({ agent: undefined, authenticator: undefined, ...options } as Partial<ServerOptions>);
  closing.push(() => world.close());
  return world;
}

const several = { agents: { sales: named("Sales"), "café 2": named("Café") } };
const listed = { agent: named("One"), tenants: ["sales", "café 2"] };
const CAFE = "/caf%C3%A9%202";

const json = { "Content-Type": "application/json" };
const post = (path: string, body: Pattern, headers: Record<string, string> = {}): Request => ({
  method: "POST",
  path,
  headers: { ...json, ...headers },
  body,
});
/** The headers that are the same in each answer to a request. */
const lasting = ({ date: _date, "x-request-id": _id, ...headers }: Outcome["headers"]): object => headers;

const get = (path: string, headers: Record<string, string> = {}): Request => ({ method: "GET", path, headers });
const rpc = (path: string, method: string, params: Pattern, headers: Record<string, string> = {}): Request =>
  post(path, { jsonrpc: "2.0", id: 1, method, params }, headers);
const version = (name: string): Record<string, string> => ({ "A2A-Version": name });

const said3 = (text: string): Record<string, Pattern> => ({
  message: { kind: "message", role: "user", messageId: "m", parts: [{ kind: "text", text }] },
});
const said1 = (text: string): Record<string, Pattern> => ({
  message: { role: "ROLE_USER", messageId: "m", parts: [{ text }] },
});
const proto3 = (text: string): Record<string, Pattern> => ({
  message: { role: "ROLE_USER", messageId: "m", content: [{ text }] },
});
const said01 = (text: string, id: string): Record<string, Pattern> => ({
  id,
  message: { role: "user", parts: [{ type: "text", text }] },
});

// biome-ignore lint/suspicious/noExplicitAny: tests look into it.
const bodyOf = ({ body }: Outcome): any => body;

/** A version as it is spoken at the URL of an agent: how something is said, and how the task is read. */
interface Way {
  readonly name: string;
  send(at: string, text: string): Request;
  get(at: string, id: string): Request;
}

const ways: readonly Way[] = [
  {
    name: "0.3 over JSON-RPC",
    send: (at, text) => rpc(at, "message/send", said3(text)),
    get: (at, id) => rpc(at, "tasks/get", { id }),
  },
  {
    name: "0.3 over JSON-RPC, behind a slash",
    send: (at, text) => rpc(`${at}/`, "message/send", said3(text)),
    get: (at, id) => rpc(`${at}/`, "tasks/get", { id }),
  },
  {
    name: "0.3 over HTTP+JSON",
    send: (at, text) => post(`${at}/v1/message:send`, { ...proto3(text), configuration: { blocking: true } }),
    get: (at, id) => get(`${at}/v1/tasks/${id}`),
  },
  {
    name: "0.2 over JSON-RPC",
    send: (at, text) => rpc(at, "message/send", said3(text), version("0.2")),
    get: (at, id) => rpc(at, "tasks/get", { id }, version("0.2")),
  },
  {
    name: "0.1 over JSON-RPC",
    send: (at, text) => rpc(at, "tasks/send", said01(text, "mine")),
    get: (at, id) => rpc(at, "tasks/get", { id }),
  },
  {
    name: "1.0 over JSON-RPC",
    send: (at, text) => rpc(at, "SendMessage", said1(text)),
    get: (at, id) => rpc(at, "GetTask", { id }),
  },
];

/** The task of an answer in any version. */
function taskOf(outcome: Outcome): { id: string; text: string } | undefined {
  const body = bodyOf(outcome);
  const result = body?.result ?? body;
  const task = result?.task ?? result;
  const [part] = task?.artifacts?.[0]?.parts ?? [];
  return typeof task?.id === "string" ? { id: task.id, text: part?.text } : undefined;
}

describe.each([
  ["of several agents", several, ["Sales", "Café"]],
  ["whose one agent has a list of tenants", listed, ["One", "One"]],
] as const)("a server %s", (_what, options, [first, second]) => {
  it.each(ways.map((way) => [way.name, way] as const))(
    "is called in %s at a URL for each tenant, whose tasks are apart",
    async (_name, way) => {
      const world = await open(options);
      const ask = (request: Request): Promise<Outcome> => exchange(request, world);
      const sales = taskOf(await ask(way.send("/sales", "hello")));
      const cafe = taskOf(await ask(way.send(CAFE, "hi")));
      expect([sales?.text, cafe?.text]).toEqual([`${first}: hello`, `${second}: hi`]);
      expect(taskOf(await ask(way.get("/sales", sales?.id ?? "")))?.text).toBe(`${first}: hello`);
      expect(taskOf(await ask(way.get(CAFE, cafe?.id ?? "")))?.text).toBe(`${second}: hi`);
      if (way.name.startsWith("0.1")) return expect([sales?.id, cafe?.id]).toEqual(["mine", "mine"]);
      const other = await ask(way.get(CAFE, sales?.id ?? ""));
      expect(JSON.stringify(other.body)).toMatch(/-32001|404/);
      // 1.0 has the tenant in its message, and finds the same task.
      const native = rpc("/", "GetTask", { tenant: "sales", id: sales?.id ?? "" });
      expect(taskOf(await ask(native))?.id).toBe(sales?.id);
    },
  );

  it("is called in 1.0 at those URLs for their tenants alone", async () => {
    const world = await open(options);
    const ask = (request: Request): Promise<Outcome> => exchange(request, world);
    const same = await ask(rpc("/sales", "SendMessage", { tenant: "sales", ...said1("hello") }));
    expect(taskOf(same)?.text).toBe(`${first}: hello`);
    const why = 'Invalid parameters: tenant: is another than that of the URL, "sales"';
    const other = await ask(rpc("/sales", "SendMessage", { tenant: "café 2", ...said1("hello") }));
    expect(bodyOf(other).error).toMatchObject({ code: -32602, message: why });
    const batch = await ask(
      post("/sales", [
        { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} },
        { jsonrpc: "2.0", id: 2, method: "ListTasks", params: { tenant: "café 2" } },
      ]),
    );
    expect(bodyOf(batch)).toMatchObject([{ result: { totalSize: 1 } }, { error: { code: -32602, message: why } }]);
    const list = await ask(rpc("/", "ListTasks", { tenant: "café 2" }));
    expect(bodyOf(list).result.totalSize).toBe(0);
    // Its paths of HTTP+JSON are those that they were, and no others.
    expect(taskOf(await ask(post("/sales/message:send", said1("hello"))))?.text).toBe(`${first}: hello`);
    for (const path of ["/sales/sales/message:send", "/sales/v1/v1/message:send"]) {
      expect((await ask(post(path, said1("hello")))).status, path).toBe(404);
    }
    expect((await ask(post("/sales/v1/message:send", said1("x"), version("1.0")))).status).toBe(404);
  });

  it("names those URLs in the cards of each tenant", async () => {
    const world = await open(options);
    const { url } = world;
    const card = async (path: string, asked?: string) => {
      const outcome = await exchange(get(path, asked === undefined ? {} : version(asked)), world);
      expect([path, asked, outcome.status]).toEqual([path, asked, 200]);
      return bodyOf(outcome);
    };
    const CARD = "/.well-known/agent-card.json";
    const EARLIER = "/.well-known/agent.json";
    for (const [at, tenant] of [
      ["/sales", "sales"],
      [CAFE, "café 2"],
    ]) {
      const both = await card(`${at}${CARD}`);
      expect(both).toMatchObject({ protocolVersion: "0.3.0", url: `${url}${at}`, preferredTransport: "JSONRPC" });
      const ways = [
        { url: `${url}${at}`, transport: "JSONRPC" },
        { url: `${url}${at}`, transport: "HTTP+JSON" },
      ];
      expect(both.additionalInterfaces).toEqual(ways);
      const shown = both.supportedInterfaces.map((each: Record<string, string>) =>
        [each.protocolVersion, each.protocolBinding, each.url, each.tenant ?? ""].join(" "),
      );
      expect(shown.slice(-4)).toEqual([
        `0.3 JSONRPC ${url}${at} `,
        `0.3 HTTP+JSON ${url}${at} `,
        `0.2 JSONRPC ${url}${at}/ `,
        `0.1 JSONRPC ${url}${at} `,
      ]);
      const native = shown.slice(0, -4);
      expect(native).toHaveLength(4);
      expect(native.every((each: string) => each.startsWith("1.0 ") && each.endsWith(` ${tenant}`))).toBe(true);
      expect(await card(`${at}${CARD}`, "0.3")).toMatchObject({ url: `${url}${at}`, additionalInterfaces: ways });
      const own = await card(`${at}${CARD}`, "1.0");
      expect(own).not.toHaveProperty("url");
      expect(own.supportedInterfaces.map((each: { tenant: string }) => each.tenant)).toEqual(Array(4).fill(tenant));
      expect(await card(`${at}${EARLIER}`)).toMatchObject({ protocolVersion: "0.2.6", url: `${url}${at}/` });
      expect(await card(`${at}${EARLIER}`, "0.2")).toMatchObject({ url: `${url}${at}/` });
      expect(await card(`${at}${EARLIER}`, "0.1")).toMatchObject({ protocolVersion: "0.1", url: `${url}${at}` });
    }
    // At the root: the first agent's, or that without a tenant.
    const root = "agents" in options ? "/sales" : "";
    expect(await card(CARD)).toMatchObject({ name: first, url: `${url}${root}` });
    expect(await card(EARLIER, "0.1")).toMatchObject({ name: first, url: `${url}${root}` });
    expect((await exchange(get(`/nobody${CARD}`), world)).status).toBe(404);
  });

  it("answers for unknown tenants, and below known ones, what it does for unknown paths", async () => {
    const world = await open(options);
    const ask = (request: Request): Promise<Outcome> => exchange(request, world);
    const shown = ({ status, body, headers }: Outcome): object => ({ status, body, headers: lasting(headers) });
    const unknown = shown(await ask(rpc("/no/such/path", "message/send", said3("hello"))));
    expect(unknown).toMatchObject({ status: 404 });
    const paths = ["/nobody", "/nobody/", "/nobody/v1/message:send", "/sales/x", "/sales//", "/sales/sales", "/%ff"];
    for (const path of [...paths, "/sales/lf.a2a.v1.A2AService/SendMessage"]) {
      expect([path, shown(await ask(rpc(path, "message/send", said3("hello"))))]).toEqual([path, unknown]);
    }
    const verb = await ask(get("/sales", { Accept: "application/json" }));
    expect([verb.status, verb.headers.allow]).toEqual([405, "POST"]);
  });

  it("has nothing there where it speaks 1.0 alone", async () => {
    const world = await open({ ...options, versions: ["1.0"] });
    for (const [path, params] of [["/sales", said1("hello")] as const, ["/sales/v1/message:send", {}] as const]) {
      expect((await exchange(rpc(path, "SendMessage", params), world)).status).toBe(404);
    }
  });

  it("keeps idempotency keys and streams of each tenant apart", async () => {
    const world = await open(options);
    const key = { "Idempotency-Key": "the-same" };
    const ids: (string | undefined)[] = [];
    for (const at of ["/sales", "/sales", CAFE, CAFE]) {
      ids.push(taskOf(await exchange(rpc(at, "message/send", said3("hello"), key), world))?.id);
    }
    expect([ids[0], ids[2]]).toEqual([ids[1], ids[3]]);
    expect(ids[0]).not.toBe(ids[2]);
    const again = { "Last-Event-ID": "1" };
    const resumed = rpc("/sales", "tasks/resubscribe", { id: ids[0] ?? "" }, again);
    const { events = [] } = await exchange(resumed, world);
    expect(JSON.stringify(events)).toContain(`${first}: hello`);
    expect(events.at(-1)).toMatchObject({ result: { kind: "status-update", final: true } });
    const { events: none } = await exchange({ ...resumed, path: CAFE }, world);
    expect(none).toMatchObject([{ error: { code: -32001 } }]);
  });

  it("notifies of their tasks in the version that asked for it", async () => {
    const world = await open(options);
    const hook = (name: string): string => world.webhook.urlOf(`/${name}`);
    const send3 = rpc("/sales", "message/send", {
      ...said3("hello"),
      configuration: { pushNotificationConfig: { url: hook("three") } },
    });
    const send01 = rpc(CAFE, "tasks/send", {
      ...said01("hello", "mine"),
      pushNotification: { url: hook("one") },
    });
    for (const request of [send3, send01]) expect((await exchange(request, world)).status).toBe(200);
    const [three] = (await world.webhook.eventually("/three", () => true)) as readonly { body: unknown }[];
    expect(three?.body).toMatchObject({ kind: "task" });
    const [one] = (await world.webhook.eventually("/one", () => true)) as readonly { body: unknown }[];
    expect(one?.body).toMatchObject({ id: "mine", sessionId: expect.any(String) });
    // Setting, getting and listing goes by calls that the version makes itself.
    const { id = "" } = taskOf(await exchange(rpc("/sales", "message/send", said3("ask")), world)) ?? {};
    const config = { taskId: id, pushNotificationConfig: { url: hook("later") } };
    await exchange(rpc("/sales", "tasks/pushNotificationConfig/set", config), world);
    const got = await exchange(rpc("/sales", "tasks/pushNotificationConfig/get", { id }), world);
    expect(bodyOf(got).result.pushNotificationConfig.url).toBe(hook("later"));
    const got01 = await exchange(rpc("/sales", "tasks/pushNotification/get", { id }), world);
    expect(bodyOf(got01).result.pushNotificationConfig.url).toBe(hook("later"));
    const other = await exchange(rpc(CAFE, "tasks/pushNotificationConfig/get", { id }), world);
    expect(bodyOf(other).error.code).toBe(-32001);
  });
});

describe("a server of several agents", () => {
  it("refuses older calls that name no agent, and says where they go", async () => {
    const world = await open(several);
    const why = (name: string): RegExp =>
      new RegExp(
        `tenant: is required, and messages of A2A ${name} have none: over JSON-RPC and HTTP\\+JSON each agent has a URL of its own, which its card names`,
      );
    const root = await exchange(rpc("/", "message/send", said3("hello")), world);
    expect(bodyOf(root).error).toMatchObject({ code: -32602, message: expect.stringMatching(why("0\\.3")) });
    const first = await exchange(rpc("/", "tasks/send", said01("hello", "mine")), world);
    expect(bodyOf(first).error).toMatchObject({ code: -32602, message: expect.stringMatching(why("0\\.1")) });
    const rest = await exchange(post("/v1/message:send", proto3("hello")), world);
    expect([rest.status, bodyOf(rest).message]).toEqual([400, expect.stringMatching(why("0\\.3"))]);
    const grpc: Request = {
      method: "GRPC",
      path: "/a2a.v1.A2AService/SendMessage",
      headers: {},
      body: proto3("hello"),
    };
    const over = await exchange(grpc, world);
    expect(over.status).toBe("INVALID_ARGUMENT");
  });

  it("shows the page of an agent at its URL, and lets scripts of other origins call it", async () => {
    const world = await open({ ...several, cors: ["https://app.example"], page: true });
    const page = await exchange(get("/sales", { Accept: "text/html" }), world);
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    const preflight = await fetch(`${world.url}/sales`, {
      method: "OPTIONS",
      headers: { Origin: "https://app.example", "Access-Control-Request-Method": "POST" },
    });
    expect([preflight.ok, preflight.headers.get("access-control-allow-origin")]).toEqual([true, "https://app.example"]);
  });

  it("asks at each URL for what its agent requires", async () => {
    const key = (secret: string): Partial<Agent> => ({
      security: {
        schemes: { key: apiKeyScheme({ in: "header", name: "X-Key", keys: [{ key: secret, owner: "ann" }] }) },
      },
    });
    const [one, two] = ["1".repeat(32), "2".repeat(32)];
    const agents = { sales: named("Sales", key(one)), support: named("Support", key(two)) };
    const world = await open({ agents } as Partial<ServerOptions>);
    for (const [at, secret, ok] of [
      ["/sales", one, true],
      ["/sales", two, false],
      ["/support", two, true],
      ["/support", one, false],
    ] as const) {
      for (const way of ways) {
        const request = way.send(at, "hello");
        const outcome = await exchange({ ...request, headers: { ...request.headers, "X-Key": secret } }, world);
        expect([way.name, at, outcome.status]).toEqual([way.name, at, ok ? 200 : 401]);
      }
    }
  });

  it("answers with the extended card of each, which names its URLs", async () => {
    const key = "1".repeat(32);
    const security = { schemes: { key: apiKeyScheme({ in: "header", name: "X-Key", keys: [{ key, owner: "ann" }] }) } };
    const extended = (name: string): Agent =>
      named(name, { security, extendedCard: { description: `More of ${name}.` } });
    const world = await open({
      agents: { sales: extended("Sales"), support: extended("Support") },
    } as Partial<ServerOptions>);
    const ask = (request: Request): Promise<Outcome> =>
      exchange({ ...request, headers: { ...request.headers, "X-Key": key } }, world);
    const over = await ask(rpc("/support", "agent/getAuthenticatedExtendedCard", {}));
    const at = `${world.url}/support`;
    expect(bodyOf(over).result).toMatchObject({ description: "More of Support.", url: at, protocolVersion: "0.3.0" });
    const rest = await ask(get("/support/v1/card"));
    expect(bodyOf(rest)).toMatchObject({ description: "More of Support.", url: at });
    // As clients of 0.2 ask for it: beside the URL of the card.
    const later = await ask(get("/support/../support/agent/authenticatedExtendedCard"));
    expect(bodyOf(later)).toMatchObject({ description: "More of Support.", url: `${at}/` });
    const native = await ask(rpc("/support", "GetExtendedAgentCard", {}));
    expect(bodyOf(native).result.supportedInterfaces[0]).toMatchObject({ tenant: "support" });
  });
});

describe("a list of tenants of one agent that callers have to authenticate for", () => {
  it("is not told by what is at their paths: they have no URLs there", async () => {
    const key = "1".repeat(32);
    const security = { schemes: { key: apiKeyScheme({ in: "header", name: "X-Key", keys: [{ key, owner: "ann" }] }) } };
    const world = await open({ ...listed, agent: named("One", { security }) });
    const shown = async (request: Request): Promise<object> => {
      const { status, body, headers } = await exchange(request, world);
      return { status, body, headers: lasting(headers) };
    };
    for (const name of ["sales", "nobody"]) {
      for (const request of [...ways.map((way) => way.send(`/${name}`, "hello")), get(`/${name}/v1/card`)]) {
        const [mine, other] = [await shown(request), await shown({ ...request, path: "/no/such/path" })];
        expect([request.path, mine]).toEqual([request.path, other]);
      }
      expect(await shown(get(`/${name}/.well-known/agent-card.json`))).toMatchObject({ status: 404 });
    }
  });
});

describe("a tenant that is called v1, whose paths are those of 0.3", () => {
  it("is called in every version all the same", async () => {
    const world = await open({ agents: { billing: named("Billing"), v1: named("V1") } } as Partial<ServerOptions>);
    for (const way of ways) {
      const outcome = await exchange(way.send("/v1", "hello"), world);
      expect([way.name, taskOf(outcome)?.text]).toEqual([way.name, "V1: hello"]);
    }
    const native = await exchange(post("/v1/message:send", said1("hello"), version("1.0")), world);
    expect(taskOf(native)?.text).toBe("V1: hello");
    // Without a version this is the server's own path of 0.3, which has no agent.
    const own = await exchange(post("/v1/message:send", proto3("hello")), world);
    expect([own.status, bodyOf(own).code]).toEqual([400, -32602]);
  });
});

describe("the preview of 1.1, which has tenants in its messages", () => {
  it("is spoken at the URL of an agent as 1.0 is: over JSON-RPC, for that one alone", async () => {
    const world = await open({ ...several, preview: "1.1" });
    const ask = (request: Request): Promise<Outcome> => exchange(request, world);
    const sent = await ask(rpc("/sales", "SendMessage", said1("hello"), version("1.1")));
    expect(taskOf(sent)?.text).toBe("Sales: hello");
    const other = await ask(rpc("/sales", "ListTasks", { tenant: "café 2" }, version("1.1")));
    expect(bodyOf(other).error.code).toBe(-32602);
    const own = await ask(get(`/sales/tasks/${taskOf(sent)?.id}`, version("1.1")));
    expect(taskOf(own)?.text).toBe("Sales: hello");
    // These paths would be those of a tenant of the name of this one.
    expect((await ask(get(`/sales/v1/tasks/${taskOf(sent)?.id}`, version("1.1")))).status).toBe(404);
  });
});

describe("a server of one agent for any tenant", () => {
  it("has no URLs of tenants: older calls are those of none", async () => {
    const world = await open({ agent: named("One") });
    expect((await exchange(rpc("/sales", "message/send", said3("hello")), world)).status).toBe(404);
    expect((await exchange(post("/sales/v1/message:send", proto3("hello")), world)).status).toBe(404);
    const root = await exchange(rpc("/", "message/send", said3("hello")), world);
    expect(taskOf(root)?.text).toBe("One: hello");
  });
});

describe("calls of the server's own paths", () => {
  it("look up no tenant that they do not name: its URL is tried behind everything else", async () => {
    const settings = resolveOptions({ ...several, store: memoryStore() } as A2AOptions, false);
    const { agents } = settings;
    const looked: string[] = [];
    const resolve = (tenant: string) => {
      looked.push(tenant);
      return agents.resolve(tenant);
    };
    const { fetch: answer, lifecycle } = composeNode({ ...settings, agents: { ...agents, resolve } });
    closing.push(() => lifecycle.close(0));
    const ask = async (path: string, body: Pattern): Promise<string[]> => {
      looked.length = 0;
      const init = { method: "POST", headers: json, body: JSON.stringify(body) };
      expect((await answer(new Request(`http://localhost${path}`, init))).status).toBe(200);
      return [...looked];
    };
    const params = { tenant: "sales", ...said1("hello") };
    // A call finds its agent twice: for lines about a refusal, and after the interceptors, which may name another tenant.
    expect(await ask("/", { jsonrpc: "2.0", id: 1, method: "SendMessage", params })).toEqual(["sales", "sales"]);
    expect(await ask("/sales/message:send", said1("hello"))).toEqual(["sales", "sales"]);
    expect(await ask("/lf.a2a.v1.A2AService/SendMessage", params)).toEqual(["sales", "sales"]);
    expect(await ask("/sales", { jsonrpc: "2.0", id: 1, method: "message/send", params: said3("hello") })).toEqual([
      "sales",
      "sales",
      "sales",
    ]);
  });
});

describe("an embedded server of several agents", () => {
  it("is called below the path that it is mounted at, and leaves the rest to its host", async () => {
    const a2a = createA2A({ ...several, store: memoryStore(), basePath: "/agents" });
    await a2a.start();
    const server = http.createServer((request, response) => {
      if (request.url === "/agents/sales/own") return void response.end("own");
      return a2a.handler(request, response, () => response.writeHead(418).end("the host's"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(async () => {
      await a2a.close({ graceMs: 0 });
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const card = (await (await fetch(`${url}/agents/sales/.well-known/agent-card.json`)).json()) as { url: string };
    expect(card.url).toBe(`${url}/agents/sales`);
    const send = async (to: string): Promise<Response> =>
      fetch(to, {
        method: "POST",
        headers: json,
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params: said3("hello") }),
      });
    expect(await (await send(card.url)).text()).toContain("Sales: hello");
    for (const path of ["/agents/nobody", "/sales", "/agents/sales/x"]) {
      expect([path, (await send(`${url}${path}`)).status]).toEqual([path, 418]);
    }
    expect((await fetch(card.url, { headers: { accept: "application/json" } })).status).toBe(418);
    expect(await (await send(`${url}/agents/sales/own`)).text()).toBe("own");
  });
});
