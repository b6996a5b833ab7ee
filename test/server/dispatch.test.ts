import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { afterEach, describe, expect, it } from "vitest";
import type { HttpBinding } from "../../src/binding/binding.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { createCors } from "../../src/http/cors.js";
import { createHostCheck } from "../../src/http/hosts.js";
import { InboundBudget } from "../../src/http/inbound-budget.js";
import { createNodeHandler, type NodeHandler } from "../../src/http/node/handler.js";
import type { BodyWriter } from "../../src/http/response.js";
import { createDispatch, type DispatchOptions, type Fallback } from "../../src/server/dispatch.js";
import { healthAnswer } from "../../src/server/health.js";

const opened: http.Server[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close().closeAllConnections();
});

const inboundBudget = new InboundBudget({ limits: defaultLimits });

/** Answers with its name and what it was given. */
function binding(name: string, matches: (verb: string, path: string) => boolean): HttpBinding & Fallback {
  const handle: HttpBinding["handle"] = async (request) => {
    const { path, query } = request.target;
    const body = (await request.readBody({ max: 1_000, framing: 0 }, inboundBudget)).toString();
    const length = request.header("content-length") ?? null;
    const told = JSON.stringify({ name, path, query, body, length });
    return { status: 200, type: "application/json", body: told };
  };
  return {
    match: (verb, path) => matches(verb, path) || undefined,
    handle,
    refuse: (_request, { row }) => ({ status: row.http, body: name }),
    notFound: ({ target: { path } }) => ({
      status: 404,
      type: "application/json",
      body: JSON.stringify({ name, path }),
    }),
  };
}

const rest = binding("rest", (_verb, path) => path.startsWith("/tasks"));
const rpc = binding("rpc", (verb, path) => verb === "POST" && path === "/");

function dispatcher(more: Partial<DispatchOptions> = {}): NodeHandler {
  const dispatch = createDispatch({
    hosts: createHostCheck({ allowed: true }),
    routes: [({ target }) => healthAnswer(target.path, "ready")],
    bindings: [rpc, rest],
    fallback: binding("fallback", () => false),
    basePath: "",
    ...more,
  });
  return createNodeHandler(dispatch, silentLogger);
}

async function serve(handler: http.RequestListener): Promise<string> {
  const server = http.createServer(handler).listen(0, "127.0.0.1");
  opened.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function nameAt(url: string, init?: RequestInit): Promise<string> {
  return ((await (await fetch(url, init)).json()) as { name: string }).name;
}

describe("a request", () => {
  it.each(["GET", "HEAD", "POST", "PUT"])("asks each binding once whether it is for it: %s", async (method) => {
    const asked: string[] = [];
    const counted = binding("counted", (verb, path) => {
      asked.push(`${verb} ${path}`);
      return path === "/tasks";
    });
    const url = await serve(dispatcher({ bindings: [counted] }));
    await (await fetch(`${url}/tasks`, { method })).text();
    await (await fetch(`${url}/nowhere`, { method })).text();
    expect(asked).toEqual([`${method} /tasks`, `${method} /nowhere`]);
  });
});

describe("createDispatch()", () => {
  it("finds the route or binding by path and method, in order", async () => {
    const url = await serve(dispatcher());
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
    expect(await nameAt(`${url}/`, { method: "POST" })).toBe("rpc");
    expect(await nameAt(`${url}/`)).toBe("fallback");
    expect(await (await fetch(`${url}/tasks/a%2Fb?x=1&y=%20`)).json()).toEqual({
      name: "rest",
      path: "/tasks/a%2Fb",
      query: "x=1&y=%20",
      body: "",
      length: null,
    });
  });

  it("puts its headers on every answer", async () => {
    const url = await serve(dispatcher());
    for (const path of ["/healthz", "/tasks", "/nowhere"]) {
      expect((await fetch(url + path)).headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("answers a page to GET and HEAD alone", async () => {
    const url = await serve(dispatcher());
    const head = await fetch(`${url}/healthz`, { method: "HEAD" });
    expect([head.status, await head.text(), head.headers.get("content-type")]).toEqual([200, "", "application/json"]);
    const post = await fetch(`${url}/healthz`, { method: "POST" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("takes a whole URL as a target", async () => {
    const url = await serve(dispatcher());
    for (const [target, path] of [
      ["http://example.org/tasks?a", "/tasks"],
      ["http://example.org", "/"],
      ["*", "*"],
    ]) {
      const request = http.request(url, { path: target as string, method: target === "*" ? "GET" : "OPTIONS" }).end();
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      expect(JSON.parse(String(await response.setEncoding("utf8").toArray()))).toMatchObject({ path });
    }
  });

  it("passes other requests on, untouched", async () => {
    const handler = dispatcher();
    const url = await serve((request, response) =>
      handler(request, response, () => response.end(JSON.stringify({ name: "next" }))),
    );
    const response = await fetch(`${url}/nowhere`);
    expect(response.headers.get("x-content-type-options")).toBeNull();
    expect(await response.json()).toEqual({ name: "next" });
    expect(await nameAt(`${url}/tasks`)).toBe("rest");
  });

  it("takes the base path away where the framework does not", async () => {
    const url = await serve(dispatcher({ basePath: "/agents" }));
    expect(await (await fetch(`${url}/agents/tasks?a`)).json()).toMatchObject({ name: "rest", path: "/tasks" });
    expect(await nameAt(`${url}/agents`, { method: "POST" })).toBe("rpc");
    for (const path of ["/tasks", "/agentsx/tasks"]) expect(await nameAt(url + path)).toBe("fallback");
  });

  it("ends an answer that a binding could not give", async () => {
    const throws = (): never => {
      throw new Error("a fault of the binding");
    };
    const writeTo = async (writer: BodyWriter): Promise<never> => {
      writer.write("begun");
      return throws();
    };
    const broken = (write: boolean): HttpBinding => ({
      match: () => true,
      handle: async () => (write ? { status: 200, body: { writeTo, cancel: () => {} } } : throws()),
      refuse: throws,
    });
    const url = await serve(dispatcher({ bindings: [broken(false)] }));
    const failed = await fetch(`${url}/tasks`);
    expect([failed.status, failed.headers.get("x-content-type-options")]).toEqual([500, "nosniff"]);
    const begun = await serve(dispatcher({ bindings: [broken(true)] }));
    await expect(fetch(`${begun}/tasks`).then((response) => response.text())).rejects.toThrow();
  });
});

describe("a body that was read before", () => {
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: '{ "a": "ä" }' };
  const answerOf = async (url: string, init: RequestInit): Promise<unknown> => (await fetch(url, init)).json();

  async function app(parser: express.RequestHandler): Promise<string> {
    const made = express().use(parser).use("/agents", dispatcher());
    return serve(made);
  }

  it("is there again after express.json(), express.text() and express.raw()", async () => {
    const whole = { name: "rest", path: "/tasks", body: '{"a":"ä"}', length: "10" };
    expect(await answerOf(`${await app(express.json())}/agents/tasks`, post)).toMatchObject(whole);
    const asSent = { ...whole, body: post.body, length: "13" };
    expect(await answerOf(`${await app(express.text({ type: "*/*" }))}/agents/tasks`, post)).toMatchObject(asSent);
    expect(await answerOf(`${await app(express.raw({ type: "*/*" }))}/agents/tasks`, post)).toMatchObject(asSent);
  });

  it("is left alone where the parser left it alone", async () => {
    const url = `${await app(express.json())}/agents/tasks`;
    const text = { ...post, headers: { "content-type": "text/plain" } };
    expect(await answerOf(url, text)).toMatchObject({ body: post.body });
    expect(await answerOf(url, {})).toMatchObject({ body: "" });
  });

  it("is an error where nothing is left of it", async () => {
    const swallow: express.RequestHandler = (request, _response, next) => {
      request.resume().on("end", () => next());
    };
    expect((await fetch(`${await app(swallow)}/agents/tasks`, post)).status).toBe(500);
  });
});

describe("createCors()", () => {
  const origin = "https://console.example.org";
  const ask = (url: string, headers: Record<string, string>): Promise<Response> =>
    fetch(url, { method: "OPTIONS", headers: { "access-control-request-method": "GET", ...headers } });

  it("is off unless asked for", async () => {
    const url = await serve(dispatcher());
    const { headers } = await fetch(`${url}/tasks`, { headers: { origin } });
    expect(headers.get("access-control-allow-origin")).toBeNull();
    expect(await nameAt(`${url}/nowhere`, { method: "OPTIONS", headers: { origin } })).toBe("fallback");
  });

  it("lets every origin read what A2A, Connect and gRPC-Web say in headers", async () => {
    const url = await serve(dispatcher({ cors: createCors(true, []) }));
    for (const path of ["/tasks", "/healthz", "/nowhere"]) {
      const { headers } = await fetch(url + path, { headers: { origin } });
      expect(headers.get("access-control-allow-origin")).toBe("*");
      const exposed = headers.get("access-control-expose-headers")?.toLowerCase();
      for (const name of [
        "a2a-extensions",
        "grpc-status",
        "grpc-message",
        "grpc-status-details-bin",
        "x-request-id",
        "www-authenticate",
        "etag",
      ]) {
        expect(exposed).toContain(name);
      }
    }
  });

  it("answers ahead of a request which verbs and headers may come", async () => {
    const url = await serve(dispatcher({ cors: createCors(["https://other.example", origin], ["X-Api-Key"]) }));
    const asked = "parley-wait, a2a-new, x-evil, a2a-version";
    const response = await ask(`${url}/tasks`, { origin, "access-control-request-headers": asked });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(response.headers.get("access-control-allow-methods")).toBe("GET, HEAD, POST, DELETE");
    expect(response.headers.get("access-control-max-age")).toBe("86400");
    expect(response.headers.get("vary")).toBe("Origin, Access-Control-Request-Headers");
    const allowed = response.headers.get("access-control-allow-headers")?.toLowerCase().split(", ");
    for (const name of [
      "content-type",
      "authorization",
      "a2a-version",
      "a2a-extensions",
      "connect-protocol-version",
      "x-grpc-web",
      "last-event-id",
      "idempotency-key",
      "x-api-key",
      "parley-wait",
      "a2a-new",
    ]) {
      expect(allowed).toContain(name);
    }
    expect(allowed).not.toContain("x-evil");
  });

  it("gives strangers nothing to read", async () => {
    const url = await serve(dispatcher({ cors: createCors([origin], []) }));
    const stranger = { origin: "https://evil.example" };
    const preflight = await ask(`${url}/tasks`, stranger);
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, null]);
    const { headers } = await fetch(`${url}/tasks`, { headers: stranger });
    expect([headers.get("access-control-allow-origin"), headers.get("vary")]).toEqual([null, "Origin"]);
  });

  it("checks the method that the preflight names, and passes other paths on", async () => {
    const handler = dispatcher({ cors: createCors(true, []), routes: [] });
    const url = await serve((request, response) => handler(request, response, () => response.end("next")));
    const post = { origin, "access-control-request-method": "POST" };
    expect((await ask(`${url}/`, post)).status).toBe(204);
    expect(await (await ask(`${url}/`, { origin })).text()).toBe("next");
  });
});

describe("healthAnswer()", () => {
  it("is alive as long as it answers, and ready only between start and end", () => {
    const status = (path: string, readiness: "starting" | "ready" | "draining"): number | undefined =>
      healthAnswer(path, readiness)?.status;
    for (const readiness of ["starting", "ready", "draining"] as const) {
      expect(status("/healthz", readiness)).toBe(200);
      expect(status("/readyz", readiness)).toBe(readiness === "ready" ? 200 : 503);
      expect(status("/", readiness)).toBeUndefined();
    }
    expect(healthAnswer("/readyz", "draining")).toMatchObject({
      body: '{"status":"draining"}',
      headers: [["cache-control", "no-store"]],
    });
  });
});
