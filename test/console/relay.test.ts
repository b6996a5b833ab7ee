import * as http from "node:http";
import * as net from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { relayLimits } from "../../src/console/relay.js";
import { upstreamLimits } from "../../src/console/upstream.js";
import { bearer, operators, tokens } from "../admin/world.js";
import { setConstants } from "../support/constants.js";
import { ask, type ConsoleWorld, open, openConsole, own, sessionOf, tokenIn } from "./world.js";

/** A foreign agent that answers as the test decides. */
let answer: http.RequestListener;
const agent = http.createServer((request, response) => answer(request, response));
let at: string;
let world: ConsoleWorld;
let session: Record<string, string>;
beforeAll(async () => {
  await new Promise<void>((resolve) => agent.listen(0, "127.0.0.1", resolve));
  at = `http://127.0.0.1:${(agent.address() as net.AddressInfo).port}`;
  world = await openConsole();
  session = await sessionOf(world.base, { token: tokenIn(world.server.consoleUrl) });
});
afterAll(async () => {
  agent.close();
  agent.closeAllConnections();
  await world.server.close();
});

interface Relayed {
  readonly url?: string;
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

const relayed = ({ url = `${at}/a2a`, method = "POST", headers = {}, body }: Relayed = {}) => ({
  method: "POST",
  headers: { ...session, "parley-relay-url": url, "parley-relay-method": method, ...headers },
  ...(body !== undefined && { body }),
});
const relay = (given?: Relayed) => ask(`${world.base}/api/relay`, relayed(given));

/** TCP servers that answer each connection with bytes. */
const raws: net.Server[] = [];
afterEach(() => {
  for (const raw of raws.splice(0)) raw.close();
});
async function raw(act: (socket: net.Socket) => void): Promise<string> {
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => act(socket));
  });
  raws.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/`;
}

describe("the relay", () => {
  it.each(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "passes %s on, with headers and body",
    async (method) => {
      const seen: unknown[] = [];
      answer = async (request, response) => {
        const body = Buffer.concat(await request.toArray()).toString();
        seen.push([request.method, request.url, request.headers.authorization, request.headers["a2a-version"], body]);
        response.writeHead(418, { "x-own": "kept", "content-type": "text/plain", etag: '"1"' }).end("short and stout");
      };
      const headers = { authorization: "Bearer of-the-agent", "a2a-version": "1.0" };
      const { status, headers: answered, text } = await relay({ url: `${at}/a/b?c=%20d`, method, headers, body: "{}" });
      expect([status, text]).toEqual([418, "short and stout"]);
      expect(answered).toMatchObject({ "x-own": "kept", "content-type": "text/plain", etag: '"1"' });
      expect(answered).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
      expect(seen).toEqual([[method, "/a/b?c=%20d", "Bearer of-the-agent", "1.0", method === "GET" ? "" : "{}"]]);
    },
  );

  it("passes on a request without a body", async () => {
    let length: string | undefined;
    answer = (request, response) => {
      length = request.headers["content-length"];
      response.end();
    };
    expect((await relay()).status).toBe(200);
    expect(length).toBe("0");
  });

  it("passes on large bodies in both directions at their pace", async () => {
    answer = (request, response) => void request.pipe(response);
    const body = Buffer.alloc(30_000_000, "0123456789");
    const { status, text } = await relay({ body });
    expect([status, text.length, text.startsWith("0123456789")]).toEqual([200, body.length, true]);
  });

  it("removes what is the browser's and the console's from a request", async () => {
    let seen: http.IncomingHttpHeaders = {};
    answer = (request, response) => {
      seen = request.headers;
      response.end();
    };
    const headers = {
      ...{ origin: new URL(world.base).origin, referer: world.base, "accept-encoding": "gzip" },
      ...{ "sec-fetch-mode": "cors", "sec-ch-ua": "x", connection: "close, x-hop", "x-hop": "1", te: "trailers" },
      ...{ "proxy-authorization": "x", "x-forwarded-for": "10.0.0.1", forwarded: "for=10.0.0.1", via: "1.1 x" },
      ...{ "parley-relay-other": "1", accept: "text/event-stream", "x-api-key": "of-the-agent" },
    };
    await relay({ headers, body: "{}" });
    const { host, connection, ...rest } = seen;
    expect([`http://${host}`, connection]).toEqual([at, "keep-alive"]);
    expect(rest).toEqual({ "content-length": "2", accept: "text/event-stream", "x-api-key": "of-the-agent" });
  });

  it("removes from an answer what a browser would apply to the console", async () => {
    const hostile = {
      "set-cookie": ["parley-console-1=x", "a=b; Path=/"],
      "clear-site-data": '"*"',
      "content-security-policy": "default-src *",
      "strict-transport-security": "max-age=1",
      "alt-svc": 'h3=":443"',
      "access-control-allow-origin": "*",
      "access-control-allow-credentials": "true",
      "cross-origin-resource-policy": "cross-origin",
      "cross-origin-opener-policy": "unsafe-none",
      "service-worker-allowed": "/",
      refresh: "0;url=https://attacker.example",
      link: "<https://attacker.example/x>; rel=preload",
      nel: "{}",
      "content-security-policy-report-only": "default-src *",
      "secure-session-registration": '(ES256);path="/console"',
      "sec-session-challenge": '"x"',
      "attribution-reporting-register-source": "{}",
      "activate-storage-access": "load",
      "cross-origin-embedder-policy": "require-corp",
      "content-location": "/console/",
      "x-sourcemap": "https://attacker.example/x.map",
      "report-to": "{}",
      "reporting-endpoints": 'a="https://attacker.example"',
      "x-content-type-options": "none",
      "parley-relay-error": "ECONNREFUSED",
      "parley-relay-location": "https://attacker.example",
      "proxy-authenticate": "Basic",
      connection: "x-hop",
      "x-hop": "1",
    };
    answer = (_request, response) => void response.writeHead(200, { ...hostile, "x-own": "kept" }).end("<script>");
    const { headers } = await relay();
    expect(headers).toMatchObject({
      "x-own": "kept",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "cross-origin-resource-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
      "x-content-type-options": "nosniff",
    });
    const passed = Object.keys(headers).filter((name) => Object.hasOwn(hostile, name));
    expect(passed.toSorted()).toEqual([
      "connection",
      "content-security-policy",
      "cross-origin-opener-policy",
      "cross-origin-resource-policy",
      "x-content-type-options",
    ]);
    expect(headers.connection).not.toContain("x-hop");
  });

  it.each([301, 302, 303, 307, 308])("does not follow a redirect with status %i", async (code) => {
    let calls = 0;
    answer = (_request, response) => {
      calls++;
      response.writeHead(code, { location: "http://169.254.169.254/latest/" }).end();
    };
    const { status, headers } = await relay();
    expect([status, headers.location, headers["parley-relay-location"], calls]).toEqual([
      code,
      undefined,
      "http://169.254.169.254/latest/",
      1,
    ]);
  });

  it.each([
    ['Bearer realm="a", scope="basic"', "www-authenticate"],
    ['Basic realm="localhost"', "parley-relay-www-authenticate"],
    ["Bearer, NEGOTIATE", "parley-relay-www-authenticate"],
    ['Digest nonce="1"', "parley-relay-www-authenticate"],
  ])("passes the challenge %s on as %s", async (challenge, name) => {
    answer = (_request, response) => void response.writeHead(401, { "www-authenticate": challenge }).end();
    const { status, headers } = await relay();
    const names = ["www-authenticate", "parley-relay-www-authenticate"].filter((each) => headers[each] !== undefined);
    expect([status, names, headers[name]]).toEqual([401, [name], challenge]);
  });

  it("keeps an encoding and a rule for caches", async () => {
    const head = { "content-encoding": "gzip", "cache-control": "max-age=300" };
    answer = (_request, response) => void response.writeHead(200, head).end(gzipSync("packed"));
    const { headers } = await relay();
    expect(headers).toMatchObject(head);
  });

  it("passes events on at once, and cancels the request when the page leaves", async () => {
    let response: http.ServerResponse | undefined;
    const closed = vi.fn();
    answer = (_request, opened) => {
      response = opened;
      opened.on("close", closed).writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    };
    const stream = await open(`${world.base}/api/relay`, relayed({ body: "{}" }));
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    const next = (): Promise<unknown> => new Promise((resolve) => stream.once("data", (data) => resolve(String(data))));
    for (const event of ["data: 1\n\n", "data: 2\n\n"]) {
      const read = next();
      response?.write(event);
      expect(await read).toBe(event);
    }
    stream.destroy();
    await vi.waitFor(() => expect(closed).toHaveBeenCalled());
  });

  it("cancels a request that has no answer yet when the page leaves", async () => {
    const [asked, closed] = [vi.fn(), vi.fn()];
    answer = (_request, response) => {
      asked();
      response.on("close", closed);
    };
    const controller = new AbortController();
    const { url, ...rest } = { url: `${world.base}/api/relay`, ...relayed({ body: "{}" }) };
    const request = http.request(url, { ...rest, agent: false, signal: controller.signal });
    request.on("error", () => {}).end("{}");
    await vi.waitFor(() => expect(asked).toHaveBeenCalled());
    controller.abort();
    await vi.waitFor(() => expect(closed).toHaveBeenCalled());
  });

  it("breaks off an answer that its agent breaks off", async () => {
    answer = (_request, response) => {
      response.write("a part");
      setImmediate(() => response.socket?.destroy());
    };
    await expect(relay()).rejects.toThrow(/aborted|ECONNRESET|hang up/);
  });

  it("gives up on an agent that does not begin its answer", async () => {
    setConstants(upstreamLimits, { headMs: 50 });
    answer = () => {};
    const { status, headers, text } = await relay();
    expect([status, headers["parley-relay-error"], JSON.parse(text)]).toEqual([
      502,
      "ETIMEDOUT",
      { error: "The agent has not answered in time.", code: "ETIMEDOUT" },
    ]);
  });

  it("ends a stream that is silent for too long", async () => {
    setConstants(upstreamLimits, { idleMs: 50 });
    answer = (_request, response) => void response.write("data: 1\n\n");
    await expect(relay()).rejects.toThrow(/aborted|ECONNRESET|hang up/);
  });

  it.each([
    ["nothing", "", "ECONNRESET", "The agent closed the connection before it answered."],
    ["another protocol", "SSH-2.0-OpenSSH_9.0\r\n", /^HPE_/, "The agent does not answer by HTTP."],
    [
      "too many headers",
      `HTTP/1.1 200 OK\r\nx: ${"x".repeat(70_000)}\r\n\r\n`,
      "HPE_HEADER_OVERFLOW",
      "The headers of the answer are too large.",
    ],
    [
      "two lengths",
      "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
      /^HPE_/,
      "The agent does not answer by HTTP.",
    ],
    [
      "an upgrade",
      "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      "ERR_UPGRADE",
      "The agent answered by another protocol than HTTP.",
    ],
    [
      "an upgrade that nobody asked for",
      "HTTP/1.1 101 Switching Protocols\r\n\r\n",
      "ERR_UPGRADE",
      "The agent answered by another protocol than HTTP.",
    ],
    ["status 0", "HTTP/1.1 000 None\r\n\r\n", "ERR_INVALID_STATUS", "The agent does not answer by HTTP."],
    ["status 99", "HTTP/1.1 099 None\r\n\r\n", "ERR_INVALID_STATUS", "The agent does not answer by HTTP."],
    ["status 600", "HTTP/1.1 600 None\r\n\r\n", "ERR_INVALID_STATUS", "The agent does not answer by HTTP."],
    [
      "early hints without an end",
      "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(101),
      "ERR_INFORMATIONAL",
      "The agent does not answer by HTTP.",
    ],
  ])("says in one sentence that an agent answered by %s", async (_what, bytes, code, error) => {
    const url = await raw((socket) => void socket.end(bytes, "latin1"));
    const { status, text } = await relay({ url });
    const found = JSON.parse(text);
    expect([status, found.error]).toEqual([502, error]);
    expect(found.code).toEqual(typeof code === "string" ? code : expect.stringMatching(code));
  });

  it.each([
    ["a port without a server", "http://127.0.0.1:1/", "ECONNREFUSED"],
    ["a name without a host", "http://none.invalid/", /^(ENOTFOUND|EAI_AGAIN)$/],
  ])("says in one sentence that it cannot reach %s", async (_what, url, code) => {
    const { status, text } = await relay({ url });
    expect(status).toBe(502);
    expect(JSON.parse(text).code).toEqual(typeof code === "string" ? code : expect.stringMatching(code));
    expect(JSON.parse(text).error).toMatch(/^[A-Z][^.]*\.$/);
  });

  it("reports an agent that does not speak TLS", async () => {
    answer = (_request, response) => void response.end();
    const { status, text } = await relay({ url: at.replace("http:", "https:") });
    expect(status).toBe(502);
    expect(JSON.parse(text).error).toMatch(/^The /);
  });

  it("passes on an answer with headers that are not ASCII", async () => {
    const head = "HTTP/1.1 200 OK\r\nx-name: M\xfcnchen\r\ncontent-length: 2\r\n\r\n";
    const url = await raw((socket) => void socket.end(`${head}ok`, "latin1"));
    const { status, headers, text } = await relay({ url });
    expect([status, headers["x-name"], text]).toEqual([200, expect.stringMatching(/^M.+nchen$/), "ok"]);
  });

  it.each([
    ["no URL", { "parley-relay-url": "" }],
    ["a path", { "parley-relay-url": "/a2a" }],
    ["another scheme", { "parley-relay-url": "file:///etc/passwd" }],
    ["a user in the URL", { "parley-relay-url": "http://me:secret@127.0.0.1/" }],
    ["CONNECT", { "parley-relay-method": "CONNECT" }],
    ["TRACE", { "parley-relay-method": "TRACE" }],
    ["a method with a line break", { "parley-relay-method": "GET / HTTP/1.1" }],
  ])("refuses %s", async (_what, headers) => {
    const { status, headers: answered, text } = await relay({ headers });
    expect([status, answered["parley-relay-error"]]).toEqual([400, "ERR_INVALID_RELAY"]);
    expect(text).not.toContain("secret");
  });

  it("needs POST, a session and its own page", async () => {
    answer = (_request, response) => void response.end("reached");
    const url = `${world.base}/api/relay`;
    expect((await ask(url, { ...relayed(), method: "GET" })).status).toBe(405);
    const { headers } = relayed();
    const without = await ask(url, { method: "POST", headers: { ...headers, cookie: "" } });
    expect([without.status, without.headers["parley-relay-error"]]).toEqual([401, "ERR_NO_SESSION"]);
    const foreign = await ask(url, { method: "POST", headers: { ...headers, "sec-fetch-site": "cross-site" } });
    expect([foreign.status, foreign.text]).toEqual([403, expect.not.stringContaining("reached")]);
  });

  it("passes on a limited number of requests at once", async () => {
    setConstants(relayLimits, { requests: 1 });
    answer = (_request, response) => void response.write("data: 1\n\n");
    const stream = await open(`${world.base}/api/relay`, relayed());
    const second = await relay();
    expect([second.status, second.headers["parley-relay-error"]]).toEqual([502, "ERR_TOO_MANY_REQUESTS"]);
    stream.destroy();
    answer = (_request, response) => void response.end();
    await vi.waitFor(async () => expect((await relay()).status).toBe(200));
    // Failed requests are not counted either.
    for (let i = 0; i < 3; i++) await relay({ url: "http://127.0.0.1:1/" });
    const held = await raw((socket) => void socket.write("HTTP/1.1 099 None\r\n\r\n"));
    for (let i = 0; i < 3; i++) await relay({ url: held });
    expect((await relay()).status).toBe(200);
  });

  it("closes its connections to the agent", async () => {
    answer = (_request, response) => void response.end("ok");
    await relay();
    await vi.waitFor(async () => {
      expect(await new Promise((resolve) => agent.getConnections((_error, count) => resolve(count)))).toBe(0);
    });
  });

  it("logs no credentials", async () => {
    answer = (_request, response) => void response.end();
    await relay({ headers: { authorization: "Bearer secret-4711" }, url: `${at}/?key=secret-4711` });
    await relay({ headers: { authorization: "Bearer secret-4711" }, url: "http://127.0.0.1:1/?key=secret-4711" });
    expect(JSON.stringify([world.lines, world.records])).not.toContain("secret-4711");
  });
});

describe("the relay of a console that others reach", () => {
  let other: ConsoleWorld;
  beforeAll(async () => {
    other = await openConsole({
      trustProxy: "loopback",
      admin: { listen: "127.0.0.1:0", tokens: operators },
    });
  });
  afterAll(() => other.server.close());

  const call = async (url: string, token: string = tokens.write) => {
    const headers = { ...(await sessionOf(other.base, bearer(token))), "parley-relay-url": url };
    return ask(`${other.base}/api/relay`, { method: "POST", headers });
  };

  it.each([
    "http://127.0.0.1:8080/",
    "http://localhost/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://printer.local/",
    "http://intranet/",
  ])("does not reach %s", async (url) => {
    const { status, headers, text } = await call(url);
    expect([status, headers["parley-relay-error"]]).toEqual([502, "ERR_FORBIDDEN_TARGET"]);
    expect(JSON.parse(text).error).toBe("The host is not public, and this console calls public ones.");
  });

  it("does not reach a name that resolves to an address that is not public", async () => {
    const { promises } = await import("node:dns");
    const lookup = vi.spyOn(promises, "lookup").mockImplementation((async () => [
      { address: "93.184.215.14", family: 4 },
      { address: "10.0.0.1", family: 4 },
    ]) as never);
    try {
      const { status, headers } = await call("http://rebound.example.com/");
      expect([status, headers["parley-relay-error"]]).toEqual([502, "ERR_FORBIDDEN_TARGET"]);
      expect(lookup).toHaveBeenCalled();
    } finally {
      lookup.mockRestore();
    }
  });

  it("needs an operator with the role write", async () => {
    const { status, headers } = await call("https://agents.example.com/", tokens.read);
    expect([status, headers["parley-relay-error"]]).toEqual([403, "ERR_ROLE"]);
    expect(own["sec-fetch-site"]).toBe("same-origin");
  });
});
