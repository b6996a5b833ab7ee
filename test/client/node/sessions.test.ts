import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { http2Client } from "../../../src/client/node/http2.js";
import { reach } from "../../../src/client/node/platform.js";
import { Sessions, type SessionTimes } from "../../../src/client/node/sessions.js";
import type { HttpClient } from "../../../src/client/platform.js";
import { atEnd } from "../world.js";

/** An HTTP/2 server behind a wire that can silence its connections, as a broken router does. */
interface Wired {
  readonly origin: string;
  readonly server: Http2Server;
  readonly sessions: readonly ServerHttp2Session[];
  /** Number of connections so far. */
  readonly connections: number;
  /** Silences the existing connections. */
  silence(): void;
}

async function portOf(server: { listen(port: number, host: string): unknown; address(): unknown }): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server as Http2Server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Answers `/now` at once, `/later` after a second, `/never` not at all, and `/large/<bytes>` with trailers. */
async function wired(): Promise<Wired> {
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  server.on("session", (session) => sessions.push(session.on("error", () => {})));
  server.on("stream", async (stream, { ":path": path = "" }) => {
    stream.on("error", () => {});
    if (path === "/never") return;
    if (path.startsWith("/large/")) {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "said-last": "yes" }));
      return stream.end(Buffer.alloc(Number(path.slice(7))));
    }
    if (path === "/later") await sleep(1_000);
    if (!stream.destroyed) stream.respond({ ":status": 200 });
    stream.end("here");
  });
  const port = await portOf(server);
  const sockets = new Set<Socket>();
  const made = { connections: 0 };
  const wire = createTcpServer((socket) => {
    made.connections += 1;
    const upstream = connectTcp(port, "127.0.0.1");
    for (const each of [socket, upstream]) sockets.add(each.on("error", () => {}));
    socket.on("close", () => upstream.destroy());
    upstream.on("close", () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  const origin = `http://127.0.0.1:${await portOf(wire)}`;
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    wire.close();
    server.close();
  });
  return {
    origin,
    server,
    sessions,
    get connections() {
      return made.connections;
    },
    silence: () => {
      for (const socket of sockets) socket.unpipe().pause();
      sockets.clear();
    },
  };
}

const quick: SessionTimes = { checkMs: 10, silenceMs: 100, pingMs: 1_000, againMs: 0, idleMs: 60_000 };

function clientOf(times: Partial<SessionTimes> = {}): HttpClient {
  const sessions = new Sessions((origin) => reach(origin, { timeoutMs: 5_000, secure: {} }), { ...quick, ...times });
  atEnd(() => sessions.close());
  return http2Client(sessions);
}

async function ask(http: HttpClient, url: string): Promise<string> {
  const answer = await http({ url, method: "POST", headers: new Headers() });
  return answer.text(1_000);
}

describe("connections of HTTP/2 to one server", () => {
  it("are one for few calls, two for many, and more when both are full", async () => {
    const { origin } = await wired();
    const sessions = new Sessions((to) => reach(to, { timeoutMs: 5_000, secure: {} }), quick);
    atEnd(() => sessions.close());
    const taken = Array.from({ length: 201 }, () => sessions.take(origin));
    const after = (calls: number) => new Set(taken.slice(0, calls)).size;
    expect([1, 25, 26, 50, 200, 201].map(after)).toEqual([1, 1, 2, 2, 2, 3]);
    const count = (session: (typeof taken)[number]) => taken.filter((each) => each === session).length;
    expect([...new Set(taken)].map(count)).toEqual([100, 100, 1]);
    for (const session of new Set(taken)) await session.isAlive();
    for (const session of taken) session.release();
    // A client that makes few calls again uses one connection. The others become idle.
    expect(taken.indexOf(sessions.take(origin))).toBe(0);
  });
});

describe("a connection of HTTP/2", () => {
  it("is given up when it is silent while a call is under way, and no ping is answered", async () => {
    const { origin, server, silence } = await wired();
    const http = clientOf();
    await ask(http, `${origin}/now`);
    const asked = once(server, "stream");
    const waiting = expect(ask(http, `${origin}/never`)).rejects.toMatchObject({
      reason: "UNAVAILABLE",
      cause: { code: "ECONNRESET" },
    });
    // On a busy machine the connection may seem silent too long, and the client opens another one for this call.
    await asked;
    silence();
    await waiting;
  }, 30_000);

  it("gets no new call after one that has waited in vain, until it has answered a ping", async () => {
    const one = await wired();
    const times = { ...quick, silenceMs: 60_000, pingMs: 60_000, checkMs: 60_000 };
    const sessions = new Sessions((to) => reach(to, { timeoutMs: 5_000, secure: {} }), times);
    atEnd(() => sessions.close());
    const http = http2Client(sessions);
    const late = async (): Promise<void> => {
      const signal = AbortSignal.timeout(50);
      await expect(http({ url: `${one.origin}/never`, method: "POST", headers: [], signal })).rejects.toThrow();
    };
    expect(await ask(http, `${one.origin}/now`)).toBe("here");
    const session = sessions.take(one.origin);
    await late();
    expect(session.hasCapacity).toBe(false);
    await expect.poll(() => session.hasCapacity).toBe(true);
    expect(await ask(http, `${one.origin}/now`)).toBe("here");
    expect(one.connections).toBe(1);
    one.silence();
    await late();
    expect(await ask(http, `${one.origin}/now`)).toBe("here");
    expect(one.connections).toBe(2);
  });

  it("lasts when the server is silent about a call, but answers pings", async () => {
    const one = await wired();
    const http = clientOf({ pingMs: 20_000 });
    expect(await ask(http, `${one.origin}/later`)).toBe("here");
    expect(one.connections).toBe(1);
  }, 30_000);

  it("is pinged once between two answers, as servers of gRPC end it otherwise", async () => {
    const one = await wired();
    let pings = 0;
    one.server.on("session", (session) => session.on("ping", () => pings++));
    const http = clientOf({ againMs: 60_000 });
    ask(http, `${one.origin}/never`).catch(() => {});
    await expect.poll(() => pings).toBe(1);
    await sleep(5 * quick.silenceMs);
    // A new call does not cause another ping either.
    ask(http, `${one.origin}/never`).catch(() => {});
    await sleep(quick.silenceMs);
    expect(pings).toBe(1);
    expect(await ask(http, `${one.origin}/now`)).toBe("here");
    await expect.poll(() => pings).toBe(2);
    expect(one.connections).toBe(1);
  }, 30_000);

  it("is asked again without an answer when that is allowed", async () => {
    const one = await wired();
    let pings = 0;
    one.server.on("session", (session) => session.on("ping", () => pings++));
    ask(clientOf(), `${one.origin}/never`).catch(() => {});
    await expect.poll(() => pings).toBeGreaterThan(2);
  }, 30_000);

  it("is pinged before a call when it was silent for long, and replaced when it does not answer", async () => {
    const one = await wired();
    const http = clientOf();
    await ask(http, `${one.origin}/now`);
    await sleep(3 * quick.silenceMs);
    expect(await ask(http, `${one.origin}/now`)).toBe("here");
    expect(one.connections).toBe(1);
    one.silence();
    await sleep(3 * quick.silenceMs);
    const answers = [1, 2, 3].map(() => ask(http, `${one.origin}/now`));
    expect(await Promise.all(answers)).toEqual(["here", "here", "here"]);
    expect(one.connections).toBe(2);
  }, 30_000);

  it("ends when nobody has used it for long, and another one is made then", async () => {
    const one = await wired();
    const http = clientOf({ idleMs: 50 });
    await ask(http, `${one.origin}/now`);
    await once(one.sessions[0] as ServerHttp2Session, "close");
    expect(await ask(http, `${one.origin}/now`)).toBe("here");
    expect(one.connections).toBe(2);
  }, 30_000);

  it("gets no more calls when its server wants none (GOAWAY), and ends those that it has", async () => {
    const one = await wired();
    const http = clientOf();
    const later = ask(http, `${one.origin}/later`);
    await once(one.server, "stream");
    const [session] = one.sessions as [ServerHttp2Session];
    const closed = once(session, "close");
    session.close();
    let said = "";
    // The server refuses calls until the client has received GOAWAY.
    while (one.connections === 1) said = await ask(http, `${one.origin}/now`).catch(() => "");
    expect(said).toBe("here");
    expect(await later).toBe("here");
    await closed;
    (one.sessions[1] as ServerHttp2Session).close();
    await once(one.sessions[1] as ServerHttp2Session, "close");
    expect(await ask(http, `${one.origin}/now`)).toBe("here");
    expect(one.connections).toBe(3);
  }, 30_000);

  it.each(["/now", "/never"])(
    "is closed without a complaint to its server (%s)",
    async (path) => {
      const one = await wired();
      const sessions = new Sessions((to) => reach(to, { timeoutMs: 5_000, secure: {} }));
      const http = http2Client(sessions);
      const codes: unknown[] = [];
      one.server.on("session", (session) => {
        session.on("goaway", (code) => codes.push(code));
        session.on("error", (error) => codes.push(error));
      });
      const asked = once(one.server, "stream");
      const answer = ask(http, `${one.origin}${path}`).catch(({ message }) => message);
      await asked;
      if (path === "/now") await answer;
      const closed = once(one.sessions[0] as ServerHttp2Session, "close");
      sessions.close();
      await closed;
      expect(codes.filter((code) => code !== 0)).toEqual([]);
      expect(await answer).toMatch(/^(here|The client is closed\.)$/);
    },
    30_000,
  );

  it("does not keep the process while no call is under way", async () => {
    const { origin } = await wired();
    const sockets: Socket[] = [];
    const sessions = new Sessions((to) => {
      const socket = reach(to, { timeoutMs: 5_000, secure: {} });
      sockets.push(socket);
      return socket;
    });
    atEnd(() => sessions.close());
    const http = http2Client(sessions);
    // biome-ignore lint/suspicious/noExplicitAny: types of Node.js leave it out
    const isKept = () => (sockets[0] as any)._handle.hasRef() as boolean;
    await ask(http, `${origin}/now`);
    expect(isKept()).toBe(false);
    const later = ask(http, `${origin}/later`);
    expect(isKept()).toBe(true);
    await later;
    expect(isKept()).toBe(false);
  }, 30_000);

  // 64 KiB may wait for a reader.
  it.each([1, 65_535, 65_536, 65_537, 90_000, 120_000, 500_000])(
    "brings %i bytes and then the trailers to whoever reads late",
    async (size) => {
      const { origin } = await wired();
      const http = clientOf();
      const answer = await http({ url: `${origin}/large/${size}`, method: "POST", headers: new Headers() });
      await sleep(100);
      let bytes = 0;
      for await (const chunk of answer.chunks()) bytes += chunk.byteLength;
      expect(bytes).toBe(size);
      expect(answer.trailers?.get("said-last")).toBe("yes");
    },
  );

  it("has no stream left of an answer that was here as a whole and that nobody read", async () => {
    const { origin } = await wired();
    const sessions = new Sessions((to) => reach(to, { timeoutMs: 5_000, secure: {} }));
    atEnd(() => sessions.close());
    const http = http2Client(sessions);
    for (const size of [1, 65_537, 90_000]) {
      const answer = await http({ url: `${origin}/large/${size}`, method: "POST", headers: new Headers() });
      await sleep(100);
      answer.cancel();
    }
    const { http2 } = sessions.take(origin);
    await new Promise<void>((resolve) => http2.close(resolve));
  }, 10_000);
});
