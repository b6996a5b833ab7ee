import { once } from "node:events";
import * as http from "node:http";
import * as http2 from "node:http2";
import * as https from "node:https";
import * as net from "node:net";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import * as tls from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { defaultLimits } from "../../../src/core/limits.js";
import { silentLogger } from "../../../src/core/log.js";
import { Connections } from "../../../src/http/node/connections.js";
import { type Listener, type ListenOptions, listen } from "../../../src/http/node/listen.js";
import type { NodeServerRequest, NodeServerResponse } from "../../../src/http/node/types.js";
import { cannotListen } from "../../../src/server/cannot-listen.js";
import { testTls } from "../../server/tls.js";

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** Answers with the version and the length of the body. `/slow` waits until it is released. */
async function start(more: Partial<ListenOptions> = {}, timeoutMs = 60_000): Promise<Started> {
  const waiting: (() => void)[] = [];
  const handler = async (request: NodeServerRequest, response: NodeServerResponse): Promise<void> => {
    let length = 0;
    const body: Readable = request;
    body.on("data", (chunk: Buffer) => (length += chunk.length));
    body.on("end", () => {
      const answer = (): unknown => response.end(`${request.httpVersion} ${request.method} ${length}`);
      if (request.url === "/begun") (response as http.ServerResponse).write("begun,");
      if (request.url === "/") answer();
      else waiting.push(answer);
    });
  };
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    limits: { ...defaultLimits, requestTimeoutMs: timeoutMs },
    logger: silentLogger,
    connections: new Connections({ limits: defaultLimits, trust: undefined, logger: silentLogger }),
    handler: (request, response) => void handler(request, response),
    ...more,
  });
  opened.push(() => listener.close(0));
  const answer = (): void => {
    for (const go of waiting.splice(0)) go();
  };
  return { ...listener, answer, waiting: () => waiting.length };
}

interface Started extends Listener {
  answer(): void;
  waiting(): number;
}

function h2(url: string): http2.ClientHttp2Session {
  const session = http2.connect(url, { ca: testTls.cert });
  session.on("error", () => {});
  opened.push(() => session.destroy());
  return session;
}

async function h2Request(session: http2.ClientHttp2Session, path = "/", body = ""): Promise<string> {
  const stream = session.request({ ":path": path, ":method": "POST" });
  stream.end(body);
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return text;
}

function h1Request(port: number, path = "/", agent?: http.Agent): Promise<{ text: string; connection?: string }> {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: "127.0.0.1", port, path, agent }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve({ text, connection: response.headers.connection ?? "" });
    });
    request.on("error", reject);
  });
}

/** Sends pieces with a pause between them. Returns everything received until the server hangs up. */
async function raw(port: number, pieces: readonly (string | Buffer)[], pauseMs = 20): Promise<string> {
  const socket = net.connect(port, "127.0.0.1").setNoDelay(true);
  opened.push(() => socket.destroy());
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString("latin1"))).on("error", () => {});
  const closed = once(socket, "close");
  for (const piece of pieces) {
    socket.write(piece);
    await sleep(pauseMs);
  }
  await closed;
  return text;
}

/** A grace period in milliseconds, far longer than a test. */
const anHour = 3_600_000;

const until = async (met: () => boolean): Promise<void> => {
  while (!met()) await sleep(5);
};

describe("listen()", () => {
  it("speaks HTTP/1.1 and HTTP/2 on one port", async () => {
    const { port } = await start();
    const body = "x".repeat(300_000);
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body });
    expect(await answer.text()).toBe("1.1 POST 300000");
    expect(await h2Request(h2(`http://127.0.0.1:${port}`), "/", body)).toBe("2.0 POST 300000");
  });

  it("speaks both over TLS, as the client chooses", async () => {
    const { port } = await start({ tls: testTls });
    expect(await h2Request(h2(`https://localhost:${port}`))).toBe("2.0 POST 0");
    const [response] = (await once(https.get({ port, host: "localhost", ca: testTls.cert }), "response")) as [
      http.IncomingMessage,
    ];
    expect(String(await response.setEncoding("utf8").toArray())).toBe("1.1 GET 0");
    const old = tls.connect({ port, host: "127.0.0.1", ca: testTls.cert, maxVersion: "TLSv1.1", minVersion: "TLSv1" });
    const [error] = (await once(old, "error")) as [Error];
    expect(error.message).toMatch(/protocol|version|alert/);
  });

  it("puts a preface together that comes in pieces", async () => {
    const { port } = await start();
    const pieces = net.createServer((from) => {
      const to = net.connect(port, "127.0.0.1").setNoDelay(true);
      to.pipe(from);
      from.once("data", async (first: Buffer) => {
        from.pause();
        for (const [begin, end] of [[0, 2], [2, 20], [20]]) {
          to.write(first.subarray(begin, end));
          await sleep(20);
        }
        from.pipe(to);
      });
    });
    pieces.listen(0, "127.0.0.1");
    opened.push(() => pieces.close());
    await once(pieces, "listening");
    const { port: throughPieces } = pieces.address() as net.AddressInfo;
    expect(await h2Request(h2(`http://127.0.0.1:${throughPieces}`), "/", "hello")).toBe("2.0 POST 5");
  });

  it("takes a verb that begins like the preface for HTTP/1.1", async () => {
    const { port } = await start();
    const request = "ROPFIND / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    expect(await raw(port, ["P", request])).toContain("1.1 PROPFIND 0");
  });

  it("answers a client that stops sending at once", async () => {
    const { port } = await start();
    const socket = net.connect(port, "127.0.0.1");
    socket.end("GET / HTTP/1.0\r\n\r\n");
    expect(String(await socket.setEncoding("utf8").toArray())).toContain("1.0 GET 0");
  });

  it("hangs up on clients that say nothing, or never enough", async () => {
    const { port } = await start({}, 100);
    for (const pieces of [[], ["PRI * HT"], ["GET / HTTP/1.1\r\nhost:"], ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]]) {
      // Returns when the server has hung up.
      expect(await raw(port, pieces)).not.toContain("200");
    }
  });

  it("hangs up on a TLS client that never shakes hands", async () => {
    const { port } = await start({ tls: testTls }, 100);
    await raw(port, ["\x16"]);
  });

  it("ends requests whose body does not come", async () => {
    const { port } = await start({}, 100);
    expect(await raw(port, ["POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nabc"])).toContain("408");
    const stream = h2(`http://127.0.0.1:${port}`).request({ ":path": "/", ":method": "POST" });
    stream.write("abc");
    await new Promise((resolve) => stream.on("error", () => {}).on("close", resolve));
    expect(stream.rstCode).toBe(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });

  it.each([
    ["cleartext", {}],
    ["TLS", { tls: testTls }],
  ])("hears at once that an HTTP/2 client has gone, over %s", async (_name, options) => {
    const closed: string[] = [];
    const handler = (request: NodeServerRequest, response: NodeServerResponse): void => {
      response.once("close", () => closed.push(request.url ?? ""));
      response.writeHead(200);
      (response as http.ServerResponse).write("begun");
    };
    const { port } = await start({ ...options, handler });
    const session = h2(`${"tls" in options ? "https" : "http"}://localhost:${port}`);
    const streams = ["/a", "/b", "/c"].map((path) => session.request({ ":path": path }).on("error", () => {}));
    await Promise.all(streams.map((stream) => once(stream.resume(), "response")));
    session.destroy();
    await until(() => closed.length === 3);
  });

  it("does not hold a long answer for a slow request", async () => {
    const server = await start({}, 100);
    const [one, two] = [h1Request(server.port, "/slow"), h2Request(h2(`http://127.0.0.1:${server.port}`), "/slow")];
    await sleep(400);
    server.answer();
    expect((await one).text).toBe("1.1 GET 0");
    expect(await two).toBe("2.0 POST 0");
  });

  it("says in words why a port cannot be opened", async () => {
    const why = async (place: { host?: string; port?: number }): Promise<string> => {
      const error: NodeJS.ErrnoException = await start(place).then(
        () => expect.fail("It was opened."),
        (thrown) => thrown,
      );
      return cannotListen(error, { host: "127.0.0.1", port: 0, option: "port", ...place }).message;
    };
    const { port } = await start();
    expect(await why({ port })).toContain(`Cannot listen: port ${port} on 127.0.0.1 is already in use`);
    expect(await why({ host: "192.0.2.1" })).toContain("192.0.2.1 is not an address of this machine");
    expect(await why({ host: "no.such.host.invalid" })).toContain("Cannot listen");
  });
});

describe("drain()", () => {
  it("tells HTTP/1.1 clients that the connection ends, and still answers", async () => {
    const server = await start();
    const agent = new http.Agent({ keepAlive: true });
    opened.push(() => agent.destroy());
    expect((await h1Request(server.port, "/", agent)).connection).toBe("keep-alive");
    const running = h1Request(server.port, "/slow", agent);
    await until(() => server.waiting() === 1);
    server.drain();
    server.answer();
    expect(await running).toEqual({ text: "1.1 GET 0", connection: "close" });
    expect(await h1Request(server.port)).toEqual({ text: "1.1 GET 0", connection: "close" });
  });

  it("ends an HTTP/1.1 connection with the last byte of an answer whose headers did not announce it", async () => {
    let begun: http.ServerResponse | undefined;
    const server = await start({
      handler: (_request, response) => {
        begun = response as http.ServerResponse;
        begun.write("begun");
      },
    });
    const agent = new http.Agent({ keepAlive: true });
    opened.push(() => agent.destroy());
    const running = h1Request(server.port, "/", agent);
    await until(() => begun !== undefined);
    server.drain();
    const response = begun as http.ServerResponse;
    const { socket } = response.req;
    const isEnded = new Promise<boolean>((resolve) => {
      response.on("finish", () => resolve(socket.writableEnded));
    });
    response.end();
    expect(await isEnded).toBe(true);
    expect(await running).toEqual({ text: "begun", connection: "keep-alive" });
  });

  it("tells HTTP/2 clients to begin nothing more, and lets their streams end", async () => {
    const server = await start();
    const session = h2(`http://127.0.0.1:${server.port}`);
    const running = h2Request(session, "/slow");
    await until(() => server.waiting() === 1);
    const goaway = once(session, "goaway");
    server.drain();
    await goaway;
    server.answer();
    expect(await running).toBe("2.0 POST 0");
    await once(session, "close");
  });
});

describe("close()", () => {
  it("ends at once when nothing is going on", async () => {
    const server = await start();
    const agent = new http.Agent({ keepAlive: true });
    opened.push(() => agent.destroy());
    await h1Request(server.port, "/", agent);
    await h2Request(h2(`http://127.0.0.1:${server.port}`));
    const silent = net.connect(server.port, "127.0.0.1").on("error", () => {});
    await once(silent, "connect");
    await server.close(anHour);
    await expect(h1Request(server.port)).rejects.toThrow("ECONNREFUSED");
  });

  it("waits for answers that are under way, headers sent or not, and no longer", async () => {
    const server = await start();
    const agent = new http.Agent({ keepAlive: true });
    opened.push(() => agent.destroy());
    const running = [h1Request(server.port, "/slow", agent), h1Request(server.port, "/begun", agent)];
    await until(() => server.waiting() === 2);
    let isClosed = false;
    const closed = server.close(anHour).then(() => {
      isClosed = true;
    });
    await sleep(50);
    expect(isClosed).toBe(false);
    server.answer();
    expect((await Promise.all(running)).map(({ text }) => text)).toEqual(["1.1 GET 0", "begun,1.1 GET 0"]);
    await closed;
  });

  it.each([["HTTP/1.1"], ["HTTP/2"], ["TLS"]])("cuts %s off after the grace", async (protocol) => {
    const server = await start(protocol === "TLS" ? { tls: testTls } : {});
    const { port } = server;
    const url = `${protocol === "TLS" ? "https" : "http"}://localhost:${port}`;
    const running =
      protocol === "HTTP/1.1"
        ? h1Request(port, "/slow")
        : h2Request(h2(url.replace("localhost", "127.0.0.1")), "/slow");
    const ended = running.then(
      (text) => text,
      () => "",
    );
    await until(() => server.waiting() === 1);
    await server.close(100);
    expect(await ended).toBe("");
  });
});
