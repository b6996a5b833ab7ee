import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { brotliDecompressSync } from "node:zlib";
import express from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { consoleFolder } from "../../src/console/folder.js";
import { type A2A, createA2A, createServer } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { bearer, operators, tokens } from "../admin/world.js";
import { obedient } from "../conformance/agents.js";
import {
  ask,
  type ConsoleWorld,
  isOpen,
  logIn,
  open,
  openConsole,
  own,
  sessionOf,
  tokenIn,
  useTestFiles,
} from "./world.js";

let world: ConsoleWorld;
let base: string;
beforeAll(async () => {
  world = await openConsole();
  base = world.base;
});
afterAll(() => world.server.close());

const safe = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
};

describe("the files of the console", () => {
  it("are found below a slash", async () => {
    for (const method of ["GET", "HEAD"]) {
      const { status, headers } = await ask(base, { method });
      expect([status, headers.location]).toEqual([308, "console/"]);
      expect(headers).toMatchObject({ ...safe, "cache-control": "no-store" });
    }
  });

  it.each(["/", "/agents", "/operate/tasks/1?tab=log", "/apis", "/api", "/asset/app-1a2b3c.js"])(
    "are the page at %s, with a new nonce each time",
    async (path) => {
      const [first, second] = [await ask(base + path), await ask(base + path)];
      const nonces = [first, second].map(({ headers, text }) => {
        const [, nonce = ""] = /'nonce-([\w+/]{22}==)'/.exec(headers["content-security-policy"] as string) ?? [];
        expect(text.split(`nonce="${nonce}"`)).toHaveLength(3);
        expect(text).toContain('<base href="/console/">');
        expect(text).not.toContain("__CSP_NONCE__");
        expect(headers).toMatchObject({
          ...safe,
          "cache-control": "no-store",
          "content-type": "text/html; charset=utf-8",
        });
        expect(headers["content-security-policy"]).toBe(
          `default-src 'none'; script-src 'self' 'nonce-${nonce}'; style-src 'self' 'nonce-${nonce}'; ` +
            "img-src 'self' data: blob:; media-src blob: data:; font-src 'self'; connect-src 'self'; frame-src blob:; " +
            "worker-src 'self' blob:; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
        );
        return nonce;
      });
      expect(nonces[0]).not.toBe(nonces[1]);
    },
  );

  it.each([
    ["app-1a2b3c.js", "text/javascript; charset=utf-8", "It runs."],
    ["app-4d5e6f.css", "text/css; charset=utf-8", "margin"],
    ["icon-7a8b9c.svg", "image/svg+xml", "<svg"],
  ])("have %s, which caches keep", async (name, type, part) => {
    const { status, headers, text } = await ask(`${base}/assets/${name}`);
    expect(status).toBe(200);
    expect(text).toContain(part);
    expect(headers).toMatchObject({
      ...safe,
      "content-type": type,
      "cache-control": "public, max-age=31536000, immutable",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
    expect(headers.vary).toContain("accept-encoding");
  });

  it.each([
    ["br", "br"],
    ["gzip, deflate, br;q=0.5", "br"],
    ["gzip, brown", undefined],
    ["br;q=0", undefined],
  ])("are compressed for a browser that accepts %s: %s", async (accepted, expected) => {
    const headers = { "accept-encoding": accepted };
    const answer = await open(`${base}/assets/app-1a2b3c.js`, { headers });
    const bytes = Buffer.concat(await answer.toArray());
    expect(answer.headers["content-encoding"]).toBe(expected);
    expect((expected === undefined ? bytes : brotliDecompressSync(bytes)).toString()).toContain("It runs.");
    // This file has no compressed copy.
    expect((await ask(`${base}/assets/icon-7a8b9c.svg`, { headers })).headers["content-encoding"]).toBe(undefined);
  });

  it.each([
    "/assets/",
    "/assets/none.js",
    "/assets/app-1a2b3c.js.br",
    "/assets/../index.html",
    "/assets/..%2findex.html",
    "/assets/%2e%2e/index.html",
    "/assets/..\\index.html",
    "/assets/../../../package.json",
    "/assets//etc/passwd",
    "/assets/app-1a2b3c.js%00.css",
    "/assets/__proto__",
    "/assets/constructor",
  ])("have nothing at %s", async (path) => {
    const { status, text } = await ask(base, { path: `/console${path}` });
    expect([status, JSON.parse(text)]).toEqual([404, { error: "The console has nothing at this path." }]);
  });

  it.each(["POST", "PUT", "DELETE"])("cannot be changed by %s", async (method) => {
    for (const path of ["", "/", "/assets/app-1a2b3c.js"]) {
      const { status, headers } = await ask(base + path, { method });
      expect([status, headers.allow]).toEqual([405, "GET, HEAD"]);
    }
  });

  it("leave other paths to the agents", async () => {
    expect((await ask(`${world.server.url}/consoles`)).status).toBe(404);
    expect((await ask(`${world.server.url}/.well-known/agent-card.json`)).status).toBe(200);
  });

  it("are linked from the page of the agent, if there is a console", async () => {
    const headers = { accept: "text/html" };
    expect((await ask(world.server.url, { headers })).text).toContain('<a href="/console/">console</a>');
    const other = await openConsole({ console: false });
    expect((await ask(other.server.url, { headers })).text).not.toContain("console");
    expect((await ask(other.base)).status).toBe(404);
    expect(other.server.consoleUrl).toBe(undefined);
    await other.server.close();
  });
});

describe("requests of other pages", () => {
  const login = (headers: Record<string, string>, method = "POST") =>
    ask(`${base}/api/session`, { method, headers: { "content-type": "application/json", ...headers } });

  it.each([
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["another port of this host", { "sec-fetch-site": "same-site" }],
    ["the address bar", { "sec-fetch-site": "none" }],
    ["another origin", { origin: "https://attacker.example" }],
    ["another port, by its origin", { origin: "http://127.0.0.1:1" }],
    ["an opaque origin", { origin: "null" }],
  ])("are refused from %s", async (_where, headers) => {
    const session = await sessionOf(base, { token: tokenIn(world.server.consoleUrl) });
    for (const method of ["GET", "POST", "DELETE"]) {
      const { status, text } = await login({ cookie: session.cookie, ...headers }, method);
      expect([status, JSON.parse(text)]).toEqual([
        403,
        { error: "The request does not come from the page of this console." },
      ]);
    }
    expect(await isOpen(base, session)).toBe(true);
  });

  it("are told from those of the own page by the origin in old browsers", async () => {
    const { origin } = new URL(base);
    const body = JSON.stringify({ token: tokenIn(world.server.consoleUrl) });
    expect((await ask(`${base}/api/session`, { method: "POST", body })).status).toBe(403);
    expect((await ask(`${base}/api/session`, { method: "POST", headers: { origin }, body })).status).toBe(204);
  });

  it("are refused although the agents allow them, and get no CORS headers", async () => {
    const other = await openConsole({ cors: true });
    try {
      const session = await sessionOf(other.base, { token: tokenIn(other.server.consoleUrl) });
      const origin = "http://localhost:3000";
      const headers = { cookie: session.cookie, origin, "sec-fetch-site": "same-site" };
      const { status, headers: answered } = await ask(`${other.base}/api/session`, { headers });
      expect(status).toBe(403);
      expect(Object.keys(answered).filter((name) => name.startsWith("access-control"))).toEqual([]);
      const card = await ask(`${other.server.url}/.well-known/agent-card.json`, { headers: { origin } });
      expect(card.headers["access-control-allow-origin"]).toBe("*");
    } finally {
      await other.server.close();
    }
  });

  it.each(["attacker.example", "attacker.example:80", "127.0.0.1.attacker.example"])(
    "are refused by the name %s, which may lead here (DNS rebinding)",
    async (host) => {
      for (const path of ["/", "/assets/app-1a2b3c.js", "/api/session"]) {
        const { status, text } = await ask(base + path, { headers: { host, ...own } });
        expect([status, JSON.parse(text).error]).toEqual([421, expect.stringMatching(/does not accept the host/)]);
      }
      expect((await ask(base, { headers: { host: "localhost:8080" } })).status).toBe(308);
    },
  );
});

describe("a2a.console", () => {
  const servers: http.Server[] = [];
  const mounted: A2A[] = [];
  afterAll(async () => {
    for (const server of servers) server.close().closeAllConnections();
    await Promise.all(mounted.map((a2a) => a2a.close()));
  });

  async function mount(console: boolean | { local: boolean }, path = "/ops") {
    useTestFiles();
    const lines: Record<string, unknown>[] = [];
    const log = (facts: object): void => void lines.push({ ...facts });
    const a2a = createA2A({
      agent: obedient("mounted"),
      store: memoryStore(),
      audit: false,
      logger: { debug: log, info: log, warn: log, error: log },
      console,
      admin: { tokens: operators },
    });
    mounted.push(a2a);
    const app = express();
    app.use(express.json());
    if (a2a.console !== undefined) app.use(path, a2a.console.handler);
    app.use((_request, response) => void response.status(404).end("of the host"));
    const server = app.listen(0, "127.0.0.1");
    servers.push(server);
    await new Promise((resolve) => server.once("listening", resolve));
    return { a2a, lines, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}` };
  }

  it("does not exist without the option", async () => {
    expect((await mount(false)).a2a.console).toBe(undefined);
  });

  it("is below the path of its handler in Express, and opens by the credentials of operators", async () => {
    const { url } = await mount(true);
    expect((await ask(`${url}/console/`)).text).toContain('<base href="/ops/console/">');
    expect((await ask(`${url}/other`)).text).toBe("of the host");
    expect(JSON.parse((await ask(`${url}/console/api/session`)).text)).toEqual({ login: ["admin"] });
    const { headers } = await logIn(`${url}/console`, bearer(tokens.read));
    expect(headers["set-cookie"]?.[0]).toContain("; Path=/ops/console;");
    const session = await sessionOf(`${url}/console`, bearer(tokens.read));
    expect(JSON.parse((await ask(`${url}/console/api/session`, { headers: session })).text)).toMatchObject({
      operator: { name: "rita", role: "read" },
      agents: [{ name: "mounted", url: "/", own: true }],
    });
  });

  it("opens by links if only this machine reaches it", async () => {
    const { url, lines } = await mount({ local: true });
    expect((await ask(`${url}/console/`)).status).toBe(200);
    const token = /#token=(.*)/.exec(String(lines.find(({ link }) => link !== undefined)?.link))?.[1] ?? "";
    // The host's parser has already read the body.
    expect((await logIn(`${url}/console`, { token })).status).toBe(204);
    expect((await ask(`${url}/console/`, { headers: { host: "attacker.example" } })).status).toBe(421);
  });

  it("answers requests of the Fetch API", async () => {
    const { a2a } = await mount(true);
    const page = await a2a.console?.fetch(new Request("https://ops.example.com/console/"));
    expect(await page?.text()).toContain('<base href="/console/">');
    expect(page?.headers.get("content-security-policy")).toContain("default-src 'none'");
    const headers = { ...own, ...bearer(tokens.write) };
    const login = new Request("https://ops.example.com/console/api/session", { method: "POST", headers });
    const cookie = (await a2a.console?.fetch(login))?.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^parley-console-443=.*; Secure$/);
    const asked = new Request("https://ops.example.com/console/api/session", {
      headers: { ...own, cookie: cookie.split(";", 1)[0] ?? "" },
    });
    expect((await a2a.console?.fetch(asked))?.status).toBe(200);
  });

  it("passes answers without a body on by the Fetch API", async () => {
    const { a2a } = await mount({ local: true });
    const agent = http.createServer(
      (request, response) => void response.writeHead(Number(request.url?.slice(1))).end(),
    );
    servers.push(agent.listen(0, "127.0.0.1"));
    await new Promise((resolve) => agent.once("listening", resolve));
    const at = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
    const call = (path: string, headers: Readonly<Record<string, string>>): Promise<Response> | undefined =>
      a2a.console?.fetch(new Request(`http://localhost/console/api/${path}`, { method: "POST", headers }));
    const login = await call("session", { ...own, ...bearer(tokens.write) });
    const cookie = login?.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    for (const status of [204, 205, 304]) {
      const answer = await call("relay", { ...own, cookie, "parley-relay-url": `${at}/${status}` });
      expect(answer?.status).toBe(status);
    }
  });
});

describe("the option console", () => {
  const options = { agent: obedient("wrong"), store: memoryStore(), port: 0, grpcPort: false, audit: false } as const;

  it.each([
    [{ console: "yes" }, /console is a text, not an object of options/],
    [{ console: { local: 1 } }, /console.local is 1, not true or false/],
    [{ console: { remote: true } }, /console.remote/],
    [{ console: true, agent: undefined, agents: { console: obedient("console") } }, /agents has the tenant console/],
  ])("cannot be %j", async (given, fault) => {
    useTestFiles();
    await expect(createServer({ ...options, ...given } as never)).rejects.toThrow(fault);
  });

  it("names the command that builds the web app, if it is missing", async () => {
    consoleFolder.url = () => new URL("../fixtures/none/", import.meta.url);
    await expect(createServer({ ...options, console: true })).rejects.toThrow(
      "console: the console has not been built: npm run build:console",
    );
  });
});
