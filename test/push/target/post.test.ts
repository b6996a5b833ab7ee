import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { pushConnect, pushConnection } from "../../../src/push/target/post.js";
import { setConstants } from "../../support/constants.js";
import { here, post, World } from "./receiver.js";

const world = new World();
afterEach(() => world.close());

const failed = (reason: string | RegExp): object => ({
  kind: "failed",
  forbidden: false,
  reason: typeof reason === "string" ? reason : expect.stringMatching(reason),
});

/** A receiver that answers each request with the same bytes, once it has seen all of it. */
function answering(...pieces: (string | Buffer)[]): (socket: Socket) => void {
  return (socket) => {
    socket.on("data", (data) => {
      if (data.includes("{}")) for (const piece of pieces) socket.write(piece);
    });
  };
}

/** 50 MB of zeros. */
const bomb = gzipSync(Buffer.alloc(50_000_000));

describe("createPoster()", () => {
  it("sends one POST as it is given", async () => {
    const got: unknown[] = [];
    const port = await world.http(async (request, response) => {
      const { method, url, headers } = request;
      got.push({ method, url, type: headers["content-type"], host: headers.host, body: await text(request) });
      response.writeHead(202).end("thanks");
    });
    const poster = world.poster(here(port));
    const url = `http://127.0.0.1:${port}/hook?a=1`;
    expect(await post(poster, url, { body: '{"a":"ä"}' })).toEqual({ kind: "accepted", status: 202 });
    expect(await post(poster, url, { body: new TextEncoder().encode("bytes") })).toMatchObject({ kind: "accepted" });
    const each = { method: "POST", url: "/hook?a=1", type: "application/a2a+json", host: `127.0.0.1:${port}` };
    expect(got).toEqual([
      { ...each, body: '{"a":"ä"}' },
      { ...each, body: "bytes" },
    ]);
  });

  it("connects to nothing that the guard forbids", async () => {
    let connections = 0;
    const port = await world.tcp(() => connections++);
    const poster = world.poster({ allowHttp: true, ports: [port] });
    expect(await post(poster, `http://127.0.0.1:${port}/`)).toEqual({
      kind: "failed",
      forbidden: true,
      reason: "the host has an address that must not be reached (loopback)",
    });
    expect(connections).toBe(0);
  });

  it("does not use the proxies of the environment", async () => {
    let proxied = 0;
    const proxy = await world.tcp(() => proxied++);
    const port = await world.http((_, response) => response.end());
    const names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    const before = Object.fromEntries(names.map((name) => [name, process.env[name]]));
    for (const name of [...names, "NODE_USE_ENV_PROXY"]) process.env[name] = `http://127.0.0.1:${proxy}`;
    try {
      const outcome = await post(world.poster(here(port)), `http://127.0.0.1:${port}/`);
      expect(outcome).toEqual({ kind: "accepted", status: 200 });
    } finally {
      delete process.env.NODE_USE_ENV_PROXY;
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
    expect(proxied).toBe(0);
  });
});

describe("the outcome of a POST", () => {
  it.each([
    [200, { kind: "accepted" }],
    [201, { kind: "accepted" }],
    [204, { kind: "accepted" }],
    [299, { kind: "accepted" }],
    [300, { kind: "refused", gone: false }],
    [301, { kind: "refused", gone: false }],
    [302, { kind: "refused", gone: false }],
    [304, { kind: "refused", gone: false }],
    [307, { kind: "refused", gone: false }],
    [308, { kind: "refused", gone: false }],
    [400, { kind: "refused", gone: false }],
    [404, { kind: "refused", gone: false }],
    [410, { kind: "refused", gone: true }],
    [429, { kind: "refused", gone: false }],
    [500, { kind: "refused", gone: false }],
    [503, { kind: "refused", gone: false }],
    [599, { kind: "refused", gone: false }],
  ])("is that of the status %i, wherever it leads", async (status, outcome) => {
    let requests = 0;
    const port = await world.http((_, response) => {
      requests++;
      response.writeHead(status, { location: `http://127.0.0.1:${port}/elsewhere` }).end();
    });
    const poster = world.poster(here(port));
    expect(await post(poster, `http://127.0.0.1:${port}/`)).toEqual({ status, ...outcome });
    expect(requests).toBe(1);
  });

  it.each([
    ["120", 120_000],
    ["0", 0],
    ["Wed, 21 Oct 2015 07:28:00 GMT", 0],
    ["soon", undefined],
    ["-5", undefined],
    ["99999999999999999999", undefined],
  ])("has Retry-After %s as a time", async (text, retryAfterMs) => {
    const port = await world.http((_, response) => response.writeHead(503, { "retry-after": text }).end());
    const outcome = await post(world.poster(here(port)), `http://127.0.0.1:${port}/`);
    expect(outcome).toEqual({
      kind: "refused",
      status: 503,
      gone: false,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  });

  it("has Retry-After as a date in the future", async () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    const port = await world.http((_, response) => response.writeHead(429, { "retry-after": date }).end());
    const outcome = await post(world.poster(here(port)), `http://127.0.0.1:${port}/`);
    const { retryAfterMs } = outcome as { retryAfterMs: number };
    expect(retryAfterMs).toBeGreaterThan(3_000_000);
    expect(retryAfterMs).toBeLessThanOrEqual(3_600_000);
  });
});

describe("a receiver", () => {
  const first = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n";

  it.each<[string, (socket: Socket) => void, object]>([
    ["never answers", () => {}, failed("there was no answer within 700 ms")],
    [
      "sends its headers for ever",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        const timer = setInterval(() => socket.write("a"), 20);
        socket.on("close", () => clearInterval(timer));
      },
      failed("there was no answer within 700 ms"),
    ],
    [
      "sends its body for ever",
      (socket) => {
        socket.write(`${first}transfer-encoding: chunked\r\n\r\n`);
        const timer = setInterval(() => socket.write("1\r\na\r\n"), 20);
        socket.on("close", () => clearInterval(timer));
      },
      failed("the answer did not end within 700 ms"),
    ],
    ["sends no end", answering(`${first}content-length: 9\r\n\r\nabc`), failed("the answer did not end within 700 ms")],
    ["closes at once", (socket) => socket.destroy(), failed(/^the connection was closed/)],
    [
      "resets the connection",
      (socket) => socket.on("data", () => socket.resetAndDestroy()),
      failed(/^the connection was closed/),
    ],
    [
      "closes after the request",
      (socket) => socket.on("data", () => socket.end()),
      failed(/^the connection was closed/),
    ],
    [
      "closes within its headers",
      (socket) => socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-")),
      failed(/^the (?:connection was closed|answer is not HTTP)/),
    ],
    [
      "closes within its body",
      (socket) => socket.on("data", () => socket.end(`${first}content-length: 9\r\n\r\nabc`)),
      failed(/^the (?:connection was closed|answer is not as long)/),
    ],
    [
      "closes within a chunk",
      (socket) => socket.on("data", () => socket.end(`${first}transfer-encoding: chunked\r\n\r\n9\r\nabc`)),
      failed(/^the (?:connection was closed|answer is not)/),
    ],
    [
      "has interim answers for ever",
      (socket) => {
        const flood = (): void => {
          for (let i = 0; i < 100 && !socket.destroyed; i++)
            socket.write("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
        };
        socket.on("data", flood);
      },
      failed("more than 16 interim answers came"),
    ],
    ["says 100 to nobody who asked", answering("HTTP/1.1 100 Continue\r\n\r\n"), failed(/^the connection was closed/)],
    [
      "wants another protocol",
      answering("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"),
      failed(/^the connection was closed/),
    ],
    [
      "has large headers",
      answering(`${first}x: ${"a".repeat(20_000)}\r\n\r\n`),
      failed("the headers of the answer are too large"),
    ],
    [
      "has many headers",
      answering(first, ...Array.from({ length: 3_000 }, (_, i) => `x-${i}: a\r\n`)),
      failed("the headers of the answer are too large"),
    ],
    ["is no HTTP", answering("220 mail.example.com ESMTP\r\n"), failed("the answer is not HTTP/1.1")],
    ["speaks HTTP/0.9", answering("<p>thanks</p>"), failed("the answer is not HTTP/1.1")],
    [
      "has two lengths",
      answering(`${first}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
      failed("the answer is not as long as it says"),
    ],
    [
      "has a length and chunks",
      answering(`${first}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
      failed("the answer is not as long as it says"),
    ],
    [
      "has a body that is too large",
      answering(`${first}content-length: 9000000\r\n\r\n${"a".repeat(70_000)}`),
      { kind: "accepted", status: 200 },
    ],
    [
      "fails with a body that is too large",
      answering(`HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n20000\r\n${"a".repeat(0x20000)}`),
      { kind: "refused", status: 500, gone: false },
    ],
    [
      "has a compression bomb",
      (socket) => {
        answering(
          `${first}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`,
          bomb.subarray(0, 40_000),
        )(socket);
        socket.on("data", () => socket.write(bomb.subarray(40_000)));
      },
      { kind: "accepted", status: 200 },
    ],
    [
      "sends more than its answer",
      answering(`${first}content-length: 1\r\n\r\nab`, "HTTP/1.1 500 No\r\n\r\n"),
      { kind: "accepted", status: 200 },
    ],
    [
      "has a few interim answers",
      answering(
        ...Array.from({ length: 16 }, () => "HTTP/1.1 103 Early Hints\r\n\r\n"),
        `${first}content-length: 0\r\n\r\n`,
      ),
      { kind: "accepted", status: 200 },
    ],
  ])("that %s", async (_, behave, outcome) => {
    const sockets: Socket[] = [];
    const port = await world.tcp((socket) => {
      sockets.push(socket);
      behave(socket);
    });
    const poster = world.poster(here(port));
    expect(
      await post(poster, `http://127.0.0.1:${port}/hook?token=s3cret`, {
        headers: { authorization: "Bearer s3cret" },
        timeoutMs: 700,
      }),
    ).toEqual(outcome);
    // The connection of a misbehaving receiver is closed.
    if ((outcome as { kind: string }).kind === "failed") {
      await expect.poll(() => sockets.every((socket) => socket.destroyed || socket.readableEnded)).toBe(true);
    }
  });

  it("that is not there", async () => {
    const port = await world.http(() => {});
    await world.close();
    const outcome = await post(world.poster(here(port)), `http://127.0.0.1:${port}/hook?token=s3cret`);
    expect(outcome).toEqual(failed("the connection was refused"));
  });

  it("that does not take up TLS is given up before the time of the POST is over", async () => {
    const port = await world.tcp(() => {});
    setConstants(pushConnect, { timeoutMs: 300 });
    const poster = world.poster(here(port));
    expect(await post(poster, `https://127.0.0.1:${port}/`, { timeoutMs: 5_000 })).toEqual(
      failed("no connection could be made in time"),
    );
  });

  it("whose headers carry what no header may is sent nothing", async () => {
    let connections = 0;
    const port = await world.tcp(() => connections++);
    const headers = { authorization: "Bearer s3cret\r\nhost: elsewhere" };
    expect(await post(world.poster(here(port)), `http://127.0.0.1:${port}/`, { headers })).toEqual(
      failed("the request cannot be written"),
    );
    expect(connections).toBe(0);
  });
});

describe("connections", () => {
  it("are kept for the next POST, and closed when there is none", async () => {
    const sockets = new Set<Socket>();
    const port = await world.http((request, response) => {
      sockets.add(request.socket);
      response.end();
    });
    setConstants(pushConnection, { idleMs: 1_000 });
    const poster = world.poster(here(port));
    for (let i = 0; i < 10; i++) await post(poster, `http://127.0.0.1:${port}/`);
    // undici gives a connection a round of the event loop to be closed, and takes another one meanwhile.
    expect(sockets.size).toBeLessThanOrEqual(2);
    await expect.poll(() => [...sockets].every(({ destroyed }) => destroyed), { timeout: 10_000 }).toBe(true);
  });

  it("are at most so many of one host, and other hosts do not wait for them", async () => {
    let open = 0;
    let most = 0;
    const answers: (() => void)[] = [];
    const slow = await world.http((_, response) => {
      open++;
      most = Math.max(most, open);
      answers.push(() => {
        open--;
        response.end();
      });
    });
    const quick = await world.http((_, response) => response.end());
    const poster = world.poster(
      { allowHttp: true, ports: [slow, quick], allow: ["127.0.0.1"] },
      { maxDeliveriesPerHost: 3 },
    );
    const posts = Array.from({ length: 12 }, () => post(poster, `http://127.0.0.1:${slow}/`));
    await expect.poll(() => open).toBe(3);
    expect(await post(poster, `http://127.0.0.1:${quick}/`)).toEqual({ kind: "accepted", status: 200 });
    const done = Promise.all(posts);
    while (answers.length > 0 || open > 0) {
      answers.shift()?.();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await done).every(({ kind }) => kind === "accepted")).toBe(true);
    expect(most).toBe(3);
  });
});

describe("a POST that is called off", () => {
  const aborted = failed("it was called off");

  it("before it begins is not sent", async () => {
    let requests = 0;
    const port = await world.http(() => requests++);
    const signal = AbortSignal.abort();
    expect(await post(world.poster(here(port)), `http://127.0.0.1:${port}/`, { signal })).toEqual(aborted);
    expect(requests).toBe(0);
  });

  it("while it is under way ends its connection", async () => {
    const stop = new AbortController();
    let isClosed = false;
    const port = await world.http((request) => {
      request.socket.on("close", () => {
        isClosed = true;
      });
      stop.abort();
    });
    const { signal } = stop;
    expect(await post(world.poster(here(port)), `http://127.0.0.1:${port}/`, { signal })).toEqual(aborted);
    await expect.poll(() => isClosed).toBe(true);
  });

  it("or is over while it waits for a connection is never sent", async () => {
    const paths: unknown[] = [];
    let end: (() => void) | undefined;
    const port = await world.http((request, response) => {
      paths.push(request.url);
      if (end === undefined) end = () => response.end();
      else response.end();
    });
    const poster = world.poster(here(port), { maxDeliveriesPerHost: 1 });
    const first = post(poster, `http://127.0.0.1:${port}/first`);
    await expect.poll(() => paths).toEqual(["/first"]);
    const stop = new AbortController();
    const second = post(poster, `http://127.0.0.1:${port}/second`, { signal: stop.signal });
    const third = post(poster, `http://127.0.0.1:${port}/third`, { timeoutMs: 50 });
    const fourth = post(poster, `http://127.0.0.1:${port}/fourth`);
    stop.abort();
    expect(await second).toEqual(aborted);
    expect(await third).toEqual(failed("there was no answer within 50 ms"));
    end?.();
    expect(await first).toEqual({ kind: "accepted", status: 200 });
    expect(await fourth).toEqual({ kind: "accepted", status: 200 });
    expect(paths).toEqual(["/first", "/fourth"]);
  });

  it("by close(), which leaves no connection", async () => {
    const sockets: Socket[] = [];
    const port = await world.http((request, response) => {
      sockets.push(request.socket);
      if (request.url === "/kept") response.end();
    });
    const poster = world.poster(here(port));
    await post(poster, `http://127.0.0.1:${port}/kept`);
    const open = post(poster, `http://127.0.0.1:${port}/open`);
    await expect.poll(() => sockets.length).toBe(2);
    await poster.close();
    expect(await open).toEqual(failed("the server is shutting down"));
    await expect.poll(() => sockets.every(({ destroyed }) => destroyed)).toBe(true);
    expect(await post(poster, `http://127.0.0.1:${port}/late`)).toEqual(failed("the server is shutting down"));
  });
});
