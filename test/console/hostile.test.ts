import * as http from "node:http";
import * as https from "node:https";
import * as net from "node:net";
import { gzipSync } from "node:zlib";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import express from "express";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { upstreamLimits } from "../../src/console/upstream.js";
import { createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { bearer, operators, tokens } from "../admin/world.js";
import { obedient } from "../conformance/agents.js";
import { testTls } from "../server/tls.js";
import { setConstants } from "../support/constants.js";
import { ask, type ConsoleWorld, isOpen, openConsole, own, sessionOf, tokenIn } from "./world.js";

let world: ConsoleWorld;
let session: Awaited<ReturnType<typeof sessionOf>>;
beforeAll(async () => {
  world = await openConsole({ admin: { listen: "127.0.0.1:0", tokens: operators } });
  session = await sessionOf(world.base, { token: tokenIn(world.server.consoleUrl) });
});
afterAll(() => world.server.close());

const listening: net.Server[] = [];
afterEach(() => {
  for (const server of listening.splice(0)) server.close();
});
/** Listens on a free port until the end of the test. Returns its host and port. */
async function listen(server: net.Server): Promise<string> {
  listening.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as net.AddressInfo).port}`;
}

const relay = (url: string, { base }: { readonly base: string } = world, headers: http.OutgoingHttpHeaders = session) =>
  ask(`${base}/api/relay`, { method: "POST", headers: { ...headers, "parley-relay-url": url }, body: "{}" });

describe("the relay to an agent that means harm", () => {
  it("does not accept a certificate that nobody vouches for", async () => {
    const called = vi.fn();
    const at = await listen(https.createServer(testTls, called));
    const { status, text } = await relay(`https://${at}/`);
    expect([status, JSON.parse(text).error]).toEqual([
      502,
      expect.stringMatching(/^The certificate of the host is not accepted \([A-Z_]+\)\.$/),
    ]);
    expect(called).not.toHaveBeenCalled();
  });

  it("gives up on a head that comes byte by byte", async () => {
    setConstants(upstreamLimits, { headMs: 200 });
    const closed = vi.fn();
    const at = await listen(
      net.createServer((socket) => {
        const drip = setInterval(() => socket.write("x"), 5);
        socket
          .on("error", () => {})
          .on("close", () => {
            clearInterval(drip);
            closed();
          });
        socket.write("HTTP/1.1 200 OK\r\nx-name: ");
      }),
    );
    const { status, headers } = await relay(`http://${at}/`);
    expect([status, headers["parley-relay-error"]]).toEqual([502, "ETIMEDOUT"]);
    await vi.waitFor(() => expect(closed).toHaveBeenCalled());
  });

  it("does not unpack an answer", async () => {
    const bomb = gzipSync(Buffer.alloc(100_000_000));
    const head = { "content-encoding": "gzip", "content-type": "application/json" };
    const at = await listen(http.createServer((_request, response) => void response.writeHead(200, head).end(bomb)));
    const answer = await relay(`http://${at}/`);
    expect([answer.status, answer.headers["content-encoding"]]).toEqual([200, "gzip"]);
    expect(answer.text.length).toBeLessThanOrEqual(bomb.length);
  });

  it("connects to the address that it checked, whatever the name resolves to next", async () => {
    const called = vi.fn((_request: http.IncomingMessage, response: http.ServerResponse) => void response.end());
    const at = await listen(http.createServer(called));
    const other = await openConsole({ trustProxy: "loopback", admin: { listen: "127.0.0.1:0", tokens: operators } });
    setConstants(upstreamLimits, { headMs: 100 });
    const { promises } = await import("node:dns");
    const inner = [{ address: "127.0.0.1", family: 4 }];
    const lookup = vi
      .spyOn(promises, "lookup")
      .mockResolvedValue(inner as never)
      .mockResolvedValueOnce([{ address: "93.184.215.14", family: 4 }] as never);
    try {
      const headers = await sessionOf(other.base, bearer(tokens.write));
      const url = `http://rebinding.example.com:${at.split(":")[1]}/`;
      const first = await relay(url, other, headers);
      expect(first.headers["parley-relay-error"]).not.toBe("ERR_FORBIDDEN_TARGET");
      expect([first.status, lookup.mock.calls.length]).toEqual([502, 1]);
      const next = await relay(url.replace("rebinding", "rebound"), other, headers);
      expect([next.status, next.headers["parley-relay-error"]]).toEqual([502, "ERR_FORBIDDEN_TARGET"]);
      expect(called).not.toHaveBeenCalled();
    } finally {
      lookup.mockRestore();
      await other.server.close();
    }
  });
});

describe("a session of another process", () => {
  it("is none after the server starts again", async () => {
    const before = await openConsole();
    const old = await sessionOf(before.base, { token: tokenIn(before.server.consoleUrl) });
    const { address } = JSON.parse((await ask(`${before.base}/api/receiver`, { method: "POST", headers: old })).text);
    await before.server.close();
    const after = await openConsole({ port: Number(new URL(before.base).port) });
    try {
      expect(await isOpen(after.base, old)).toBe(false);
      expect((await relay(after.server.url, after, old)).status).toBe(401);
      expect((await ask(`${after.base}/api/receiver`, { method: "POST", headers: old })).status).toBe(401);
      expect((await ask(address, { method: "POST", body: "{}" })).status).toBe(404);
      // The old cookie does not hide that of a new login.
      const now = await sessionOf(after.base, { token: tokenIn(after.server.consoleUrl) });
      expect(await isOpen(after.base, { ...own, cookie: `${old.cookie}; ${now.cookie}` })).toBe(true);
    } finally {
      await after.server.close();
    }
  });
});

describe("the session of an operator with the role read", () => {
  const writing = AdminService.methods.filter(
    ({ idempotency }) => idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
  );

  it.each(writing.map(({ name }) => name))("is refused %s", async (name) => {
    const headers = {
      ...(await sessionOf(world.base, bearer(tokens.read))),
      "content-type": "application/json",
      "connect-protocol-version": "1",
    };
    const url = `${world.base}/api/admin/${AdminService.typeName}/${name}`;
    for (const more of [{}, { authorization: `Bearer ${tokens.write}` }, { "parley-role": "write" }]) {
      const { status, text } = await ask(url, { method: "POST", headers: { ...headers, ...more }, body: "{}" });
      expect([status, JSON.parse(text)]).toEqual([403, expect.objectContaining({ code: "permission_denied" })]);
    }
  });

  it("is tested by every method that changes something", () => {
    expect(writing.length).toBeGreaterThanOrEqual(12);
  });
});

describe("a2a.console.fetch", () => {
  it.each([204, 205, 304])("passes status %i on without a body, and leaves the agent", async (status) => {
    const closed = vi.fn();
    const head = `HTTP/1.1 ${status} None\r\netag: "1"\r\ncontent-length: 1000000\r\n\r\na part`;
    const at = await listen(
      net.createServer((socket) => {
        socket.on("error", () => {}).on("close", closed);
        socket.once("data", () => socket.write(head));
      }),
    );
    const a2a = createA2A({
      ...{ agent: obedient("mounted"), store: memoryStore(), audit: false },
      ...{ console: { local: true }, admin: { tokens: operators } },
    });
    const fetch = (path: string, headers: Record<string, string>): Promise<Response> =>
      a2a.console?.fetch(new Request(`http://localhost/console/api/${path}`, { method: "POST", headers })) as never;
    try {
      const begun = await fetch("session", { ...own, ...bearer(tokens.write) });
      const cookie = begun.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
      const answer = await fetch("relay", { ...own, cookie, "parley-relay-url": `http://${at}/` });
      expect([answer.status, answer.body, answer.headers.get("etag")]).toEqual([status, null, '"1"']);
      await vi.waitFor(() => expect(closed).toHaveBeenCalled());
    } finally {
      await a2a.close();
    }
  });
});

describe("a2a.console.handler behind a parser of bodies", () => {
  it("logs in, and passes calls of agents and operators on", async () => {
    const seen: string[] = [];
    const agent = await listen(
      http.createServer(async (request, response) => {
        const body = Buffer.concat(await request.toArray()).toString();
        seen.push(`${request.headers["content-length"]} ${body}`);
        response.end("reached");
      }),
    );
    const a2a = createA2A({
      ...{ agent: obedient("mounted"), store: memoryStore(), audit: false },
      ...{ console: { local: true }, admin: { tokens: operators } },
    });
    const app = express().use(express.json(), a2a.console?.handler as express.RequestHandler);
    const base = `http://${await listen(http.createServer(app))}/console`;
    const json = { ...own, "content-type": "application/json" };
    try {
      const wrong = await ask(`${base}/api/session`, { method: "POST", headers: json, body: '{"token":"x"}' });
      expect([wrong.status, wrong.text]).toEqual([401, expect.stringContaining("The token is not accepted.")]);
      const as = { ...json, ...(await sessionOf(base, bearer(tokens.write))) };
      // The host's parser has read this body. Its text is longer than the JSON that the relay sends on.
      const body = '{ "name":  "\\u0041" }';
      const headers = { ...as, "parley-relay-url": `http://${agent}/` };
      expect((await ask(`${base}/api/relay`, { method: "POST", headers, body })).text).toBe("reached");
      expect(seen).toEqual(['12 {"name":"A"}']);
      const url = `${base}/api/admin/${AdminService.typeName}/GetServer`;
      expect((await ask(url, { method: "POST", headers: as, body: "{   }" })).status).toBe(200);
    } finally {
      await a2a.close();
    }
  });
});
