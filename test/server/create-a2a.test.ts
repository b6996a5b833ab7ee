import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import express from "express";
import { afterEach, describe, expect, it } from "vitest";
import { A2AService, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { completed } from "../../src/agent/event.js";
import { Call, type Caller } from "../../src/core/call.js";
import { type A2A, createA2A } from "../../src/server/create-a2a.js";
import type { A2AOptions } from "../../src/server/options.js";
import { memoryStore } from "../../src/store/memory/index.js";

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const agent: Agent = {
  card: { name: "Probe", description: "Answers.", version: "1.0.0" },
  extendedCard: { description: "Answers you." },
  async *execute() {
    yield completed();
  },
};

const ann: Caller = { owner: "ann", authenticated: true, scopes: [], claims: {} };

function make(more: Partial<A2AOptions> = {}): A2A {
  const authenticator = { authenticate: () => ann };
  const a2a = createA2A({ agent, store: memoryStore(), authenticator, ...more });
  opened.push(() => a2a.close({ graceMs: 0 }));
  return a2a;
}

describe("streamErrorsAsEvents", () => {
  // Streams before 1.0 are refused by an event in any case.
  it.each([
    [false, "application/json"],
    [true, "text/event-stream"],
  ])("says how a stream is refused over JSON-RPC: %s", async (streamErrorsAsEvents, type) => {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id: "none" } });
    const asked = new Request("http://localhost/", { method: "POST", headers, body });
    const answer = await make({ streamErrorsAsEvents }).fetch(asked);
    expect(answer.headers.get("content-type")).toBe(type);
    expect(JSON.parse((await answer.text()).replace(/^data: /, ""))).toMatchObject({ error: { code: -32001 } });
  });
});

/** An authenticator that keeps callers with the header `x-wait` until it is told to go on. */
function crossing() {
  let waiting = 0;
  let arrived = (): void => {};
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const authenticator = {
    authenticate: async (call: Call): Promise<Caller> => {
      if (call.header("x-wait") === undefined) return ann;
      waiting++;
      arrived();
      await gate;
      return ann;
    },
  };
  const entered = async (count: number): Promise<void> => {
    while (waiting < count) {
      await new Promise<void>((resolve) => {
        arrived = resolve;
      });
    }
  };
  return { authenticator, entered, go };
}

async function serve(handler: http.RequestListener): Promise<string> {
  const server = http.createServer(handler).listen(0, "127.0.0.1");
  opened.push(() => server.close().closeAllConnections());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const clientOf = (a2a: A2A): ReturnType<typeof createClient<typeof A2AService>> =>
  createClient(A2AService, createRouterTransport(a2a.connect.routes));

const send = (a2a: A2A): Promise<unknown> => {
  const parts = [{ content: { case: "text" as const, value: "hello" } }];
  return clientOf(a2a).sendMessage({ message: { messageId: "m", role: Role.USER, parts } });
};

const codeOf = (promise: Promise<unknown>): Promise<Code | undefined> =>
  promise.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );

/** Description and URL of the agent in its public and its extended card. */
async function urlsAt(url: string, headers: Record<string, string> = {}): Promise<unknown[]> {
  const read = async (path: string): Promise<unknown> => {
    const response = await fetch(url + path, { headers: { "a2a-version": "1.0", ...headers } });
    const card = (await response.json()) as { description: string; supportedInterfaces: { url: string }[] };
    return [card.description, card.supportedInterfaces[0]?.url];
  };
  return [await read("/.well-known/agent-card.json"), await read("/extendedAgentCard")];
}

const bothAt = (url: string): unknown[] => [
  ["Answers.", url],
  ["Answers you.", url],
];

describe("the handler after middleware that sets an encoding", () => {
  it.each(["utf8", "latin1", "base64"] as const)("reads the bytes of a body in %s", async (encoding) => {
    const app = express().use((request, _response, next) => {
      request.setEncoding(encoding);
      next();
    });
    const echo: Agent = {
      ...agent,
      async *execute({ text }) {
        yield completed(text);
      },
    };
    const url = await serve(app.use(make({ agent: echo }).handler));
    const message = { messageId: "1", role: Role.USER, parts: [{ content: { case: "text" as const, value: "Zoë" } }] };
    const body = JSON.stringify({ message: { messageId: "2", role: "ROLE_USER", parts: [{ text: "Zoë" }] } });
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const answer = await (await fetch(`${url}/message:send`, { method: "POST", headers, body })).text();
    expect(answer).toContain('"text":"Zoë"');
    const client = createClient(A2AService, createConnectTransport({ baseUrl: url, httpVersion: "1.1" }));
    let events = 0;
    for await (const _ of client.sendStreamingMessage({ message })) events++;
    expect(events).toBeGreaterThan(1);
  });
});

describe("createA2A()", () => {
  it("names every wrong option at once", () => {
    const card = { name: "", description: "", version: "1" };
    expect(() => make({ agent: { ...agent, card }, basePath: "x" })).toThrow(
      /basePath is "x".*card\.name is empty; card\.description is empty/,
    );
  });

  it("is where its client found it", async () => {
    const url = await serve(make().handler);
    expect(await urlsAt(url)).toEqual(bothAt(url));
  });

  it("is there for Connect as well", async () => {
    const a2a = make();
    const url = await serve(a2a.handler);
    const transport = createConnectTransport({ baseUrl: url, httpVersion: "1.1" });
    const card = await createClient(A2AService, transport).getExtendedAgentCard({});
    expect(card.supportedInterfaces[0]?.url).toBe(url);
  });

  it("is where Express mounts it", async () => {
    const url = await serve(express().use("/agents", make().handler));
    expect(await urlsAt(`${url}/agents`)).toEqual(bothAt(`${url}/agents`));
    expect((await fetch(`${url}/extendedAgentCard`)).status).toBe(404);
  });

  it("is where Express mounts it behind a wildcard, as NestJS does, and passes the rest to the host", async () => {
    const app = express().use("/agents{/*splat}", make().handler);
    app.all("/agents/own", (_request, response) => void response.send("The host's."));
    const url = await serve(app);
    expect(await urlsAt(`${url}/agents`)).toEqual(bothAt(`${url}/agents`));
    for (const method of ["GET", "POST"]) {
      expect(await (await fetch(`${url}/agents/own`, { method })).text()).toBe("The host's.");
    }
  });

  it("is where each of its callers found it, however long the authenticator of another one takes", async () => {
    const { authenticator, entered, go } = crossing();
    const a2a = make({ authenticator });
    const app = express().use("/first", a2a.handler).use("/second", a2a.handler);
    const url = await serve(app);
    const transport = createConnectTransport({ baseUrl: `${url}/first`, httpVersion: "1.1" });
    const headers = { "a2a-version": "1.0", "x-wait": "1" };
    const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetExtendedAgentCard" });
    const rest = fetch(`${url}/first/extendedAgentCard`, { headers });
    const jsonRpc = fetch(`${url}/first`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: rpc,
    });
    const connect = createClient(A2AService, transport).getExtendedAgentCard({}, { headers: { "x-wait": "1" } });
    await entered(3);
    expect((await urlsAt(`${url}/second`)).at(1)).toEqual(["Answers you.", `${url}/second`]);
    go();
    type Card = { supportedInterfaces: { url: string }[] };
    const { result } = (await (await jsonRpc).json()) as { result: Card };
    const cards = [(await (await rest).json()) as Card, result, await connect];
    expect(cards.map(({ supportedInterfaces: [first] }) => first?.url)).toEqual(Array(3).fill(`${url}/first`));
  });

  it("is at its configured path for callers of a router and of gRPC, also after calls at other paths", async () => {
    const a2a = make();
    const url = await serve(express().use("/first", a2a.handler));
    await urlsAt(`${url}/first`);
    const card = await clientOf(a2a).getExtendedAgentCard({});
    expect(card.supportedInterfaces[0]?.url).not.toContain("/first");
  });

  it("is below a path that no framework removes", async () => {
    const url = await serve(make({ basePath: "/agents" }).handler);
    expect(await urlsAt(`${url}/agents`)).toEqual(bothAt(`${url}/agents`));
    expect((await fetch(`${url}/extendedAgentCard`)).status).toBe(404);
  });

  it("is where the proxy that it trusts was asked, on both cards", async () => {
    const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "example.org", "x-forwarded-prefix": "/p" };
    const url = await serve(express().use("/agents", make({ trustProxy: "loopback" }).handler));
    expect(await urlsAt(`${url}/agents`, headers)).toEqual(bothAt("https://example.org/p/agents"));
    const doubting = await serve(make().handler);
    expect(await urlsAt(doubting, headers)).toEqual(bothAt(doubting));
  });

  it("is where it is said to be", async () => {
    const publicUrl = "https://example.org/x";
    const url = await serve(make({ publicUrl }).handler);
    expect(await urlsAt(url)).toEqual(bothAt(publicUrl));
  });

  it("shows the client of a trusted proxy to the authenticator", async () => {
    const peers: unknown[] = [];
    const authenticator = {
      authenticate: ({ peer }: Call) => {
        peers.push([peer.address, peer.encrypted]);
        return ann;
      },
    };
    const url = await serve(make({ authenticator, trustProxy: "loopback" }).handler);
    await urlsAt(url);
    await urlsAt(url, { "x-forwarded-for": "192.0.2.1", "x-forwarded-proto": "https" });
    expect(peers).toEqual([
      ["127.0.0.1", false],
      ["192.0.2.1", true],
    ]);
  });

  it("has no health pages of its own", async () => {
    const url = await serve(make().handler);
    expect((await fetch(`${url}/healthz`)).status).toBe(404);
  });

  it("gives the card of the agent that a call is for", () => {
    const named = (name: string): Agent => ({ ...agent, card: { ...agent.card, name } });
    const a2a = createA2A({ agents: { a: named("A"), b: named("B") }, store: memoryStore() });
    opened.push(() => a2a.close({ graceMs: 0 }));
    const { signal } = new AbortController();
    const peer = { address: "192.0.2.1", encrypted: true };
    const header = (name: string): string | undefined => (name === "host" ? "example.org" : undefined);
    const call = new Call({ binding: "own", header, peer, signal });
    call.tenant = "b";
    expect([a2a.card().name, a2a.card(call).name]).toEqual(["A", "B"]);
    expect(a2a.card().supportedInterfaces[0]).toMatchObject({ url: "http://localhost", tenant: "a" });
    expect(a2a.card(call).supportedInterfaces[0]).toMatchObject({ url: "https://example.org", tenant: "b" });
  });

  it("starts with the first call, once", async () => {
    const store = memoryStore();
    let claims = 0;
    const claimLeases = store.claimLeases.bind(store);
    store.claimLeases = (request) => {
      claims++;
      return claimLeases(request);
    };
    const a2a = make({ store });
    expect(claims).toBe(0);
    await Promise.all([send(a2a), send(a2a), a2a.start()]);
    expect(claims).toBe(1);
  });

  it("refuses calls when it could not start", async () => {
    const store = memoryStore();
    store.heartbeat = () => Promise.reject(new Error("the disk is on fire"));
    const a2a = make({ store });
    await expect(a2a.start()).rejects.toThrow("the disk is on fire");
    const error = await send(a2a).catch((thrown: unknown) => ConnectError.from(thrown));
    expect(error).toMatchObject({ code: Code.Unavailable });
    expect(String(error)).not.toContain("fire");
  });

  it("starts with the next call after a start that failed", async () => {
    const store = memoryStore();
    const { heartbeat } = store;
    store.heartbeat = async (request) => {
      store.heartbeat = heartbeat;
      throw new Error(`no heartbeat of ${request.holder}`);
    };
    const a2a = make({ store });
    expect(await codeOf(send(a2a))).toBe(Code.Unavailable);
    expect(a2a.readiness).toBe("starting");
    await send(a2a);
    expect(a2a.readiness).toBe("ready");
  });

  it("refuses calls when it is closed, and has closed the store", async () => {
    const store = memoryStore();
    const a2a = make({ store });
    await send(a2a);
    await Promise.all([a2a.close(), a2a.close()]);
    expect(await codeOf(send(a2a))).toBe(Code.Unavailable);
    await expect(store.head({ taskId: "x" })).rejects.toMatchObject({ kind: "closed" });
  });
});
