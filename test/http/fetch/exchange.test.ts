import { create, type Message } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { defaultLimits } from "../../../src/core/limits.js";
import { silentLogger } from "../../../src/core/log.js";
import { eventsResponse } from "../../../src/http/event-stream.js";
import { FetchExchange } from "../../../src/http/fetch/handler.js";
import { InboundBudget } from "../../../src/http/inbound-budget.js";
import { PiecesBody } from "../../../src/http/pieces.js";
import { callOf } from "../../../src/http/request.js";
import { slowReader } from "../../../src/http/response.js";
import { setConstants } from "../../support/constants.js";

const url = "https://agents.example/stream?a=1";

function exchangeOf(init: RequestInit = {}): FetchExchange {
  const exchange = new FetchExchange(new Request(url, init), {}, silentLogger);
  exchange.target = { path: "/stream", query: "a=1", headers: ["x-of-all", "1"] };
  return exchange;
}

/** Runs many rounds of the event loop without a timer. */
async function rounds(): Promise<void> {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** An endless stream. Counts the messages that were read, and notes when its reader leaves. */
function endless(): { messages: AsyncIterable<Message>; seen: { asked: number; left: boolean } } {
  const seen = { asked: 0, left: false };
  async function* make(): AsyncGenerator<Message> {
    try {
      for (;;) {
        seen.asked++;
        yield create(TaskSchema, { id: "t" });
      }
    } finally {
      seen.left = true;
    }
  }
  return { messages: make(), seen };
}

async function stream(exchange: FetchExchange, messages: AsyncIterable<Message>): Promise<Response> {
  const format = { data: () => `"${"x".repeat(8_000)}"`, pieces: () => [], failure: () => '"failed"' };
  const call = callOf(exchange, "test");
  return exchange.respond(await eventsResponse(exchange, { call, messages, format }));
}

describe("FetchExchange", () => {
  it("has the facts of a request", () => {
    const headers = { "content-type": "application/json", host: "other.example" };
    const exchange = exchangeOf({ method: "POST", headers, body: "{}" });
    expect(exchange).toMatchObject({ method: "POST", url: "/stream?a=1", peer: { address: "", encrypted: true } });
    expect(["content-type", ":authority", "x-none"].map((name) => exchange.header(name))).toEqual([
      "application/json",
      "other.example",
      undefined,
    ]);
    expect(exchangeOf().header(":authority")).toBe("agents.example");
  });

  it("makes events at the pace of the response's reader", async () => {
    const { messages, seen } = endless();
    const response = await stream(exchangeOf(), messages);
    await rounds();
    // A few messages are read ahead of the response's reader, although the stream is endless.
    const ahead = seen.asked;
    expect(ahead).toBeLessThan(20);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    for (let i = 0; i < 10; i++) await reader.read();
    await rounds();
    expect(seen.asked).toBeGreaterThan(ahead);
    expect(seen.asked).toBeLessThan(ahead + 100);
    await reader.cancel();
  });

  it("takes leaving the body for the client's leaving", async () => {
    const { messages, seen } = endless();
    const exchange = exchangeOf();
    const { signal } = exchange;
    const response = await stream(exchange, messages);
    expect(exchange.canceled).toBe(false);
    await response.body?.cancel();
    await rounds();
    expect([exchange.canceled, signal.aborted, seen.left]).toEqual([true, true, true]);
  });

  it("takes the request's signal for it, too, and breaks the body off", async () => {
    const { messages, seen } = endless();
    const controller = new AbortController();
    const exchange = exchangeOf({ signal: controller.signal });
    const response = await stream(exchange, messages);
    controller.abort();
    await expect(response.text()).rejects.toThrow();
    await rounds();
    expect([exchange.canceled, seen.left]).toEqual([true, true]);
  });

  it("is not gone when the answer was read to its end", async () => {
    const exchange = exchangeOf();
    async function* three(): AsyncGenerator<Message> {
      for (let i = 0; i < 3; i++) yield create(TaskSchema);
    }
    const response = await stream(exchange, three());
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("x-of-all")).toBe("1");
    expect((await response.text()).split("\n\n")).toHaveLength(4);
    expect(exchange.canceled).toBe(false);
  });

  it("cuts off a reader who takes nothing of a large message, and releases it", async () => {
    setConstants(slowReader, { timeoutMs: 20 });
    let released = 0;
    const pieces = Array.from({ length: 100 }, () => new Uint8Array(32 * 1024));
    const written = (): void => void released++;
    const body = new PiecesBody({ pieces, written, failed: () => {} });
    const exchange = exchangeOf();
    const response = exchange.respond({ status: 200, type: "application/json", headers: [], body });
    await expect.poll(() => released).toBe(1);
    expect(exchange.canceled).toBe(true);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });

  it("gives pieces away as copies: others have the same ones", async () => {
    const piece = new Uint8Array([1, 2, 3]);
    const body = new PiecesBody({ pieces: [piece], written: undefined, failed: () => {} });
    const bytes = new Uint8Array(await exchangeOf().respond({ status: 200, headers: [], body }).arrayBuffer());
    bytes.fill(9);
    expect([...piece]).toEqual([1, 2, 3]);
  });

  it("releases a body that is not sent: of HEAD, and of a client that has gone away", () => {
    let released = 0;
    const written = (): void => void released++;
    const body = (): PiecesBody => new PiecesBody({ pieces: [], written, failed: () => {} });
    exchangeOf({ method: "HEAD" }).respond({ status: 200, headers: [], body: body() });
    exchangeOf({ signal: AbortSignal.abort() }).respond({ status: 200, headers: [], body: body() });
    expect(released).toBe(2);
  });

  it.each([204, 205, 304])("answers %i without a body, and releases the one it was given", async (status) => {
    let released = 0;
    const written = (): void => void released++;
    const source = new PiecesBody({ pieces: [new Uint8Array(9)], written, failed: () => {} });
    for (const body of [source, "text", new Uint8Array(9)]) {
      const exchange = exchangeOf();
      const response = exchange.respond({ status, headers: [["etag", '"1"']], body });
      expect([response.status, response.body, response.headers.get("etag")]).toEqual([status, null, '"1"']);
      expect([response.headers.get("content-length"), exchange.canceled]).toEqual([null, false]);
    }
    expect(released).toBe(1);
  });
});

describe("FetchExchange.readBody()", () => {
  const inboundBudget = new InboundBudget({ limits: defaultLimits });
  const size = { max: 10, framing: 0 };
  const post = (body: ReadableStream<Uint8Array>, more: object = {}): FetchExchange =>
    exchangeOf({ method: "POST", body, duplex: "half", ...more } as RequestInit);

  it("puts the pieces together", async () => {
    const body = new Blob(["a", "bc"]).stream() as ReadableStream<Uint8Array>;
    expect((await post(body).readBody(size, inboundBudget)).toString()).toBe("abc");
    expect((await exchangeOf().readBody(size, inboundBudget)).length).toBe(0);
  });

  it("stops where it is too large, and does not read the rest", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(4)),
      cancel: () => {
        cancelled = true;
      },
    });
    await expect(post(body).readBody(size, inboundBudget)).rejects.toMatchObject({ reason: "REQUEST_TOO_LARGE" });
    await rounds();
    expect(cancelled).toBe(true);
  });

  it("ends with the client's leaving, and with a body that breaks", async () => {
    const controller = new AbortController();
    const silent = new ReadableStream<Uint8Array>();
    const read = post(silent, { signal: controller.signal }).readBody(size, inboundBudget);
    controller.abort();
    await expect(read).rejects.toMatchObject({ reason: "CANCELLED" });
    const broken = new ReadableStream<Uint8Array>({ start: (c) => c.error(new Error("broken")) });
    await expect(post(broken).readBody(size, inboundBudget)).rejects.toMatchObject({ reason: "CANCELLED" });
  });

  it("reads no more of a body when its client has left", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        await new Promise((resolve) => setImmediate(resolve));
        controller.enqueue(new Uint8Array(0));
      },
      cancel: () => {
        cancelled = true;
      },
    });
    const client = new AbortController();
    const read = post(body, { signal: client.signal }).readBody(size, inboundBudget);
    await rounds();
    client.abort();
    await expect(read).rejects.toMatchObject({ reason: "CANCELLED" });
    await rounds();
    expect(cancelled).toBe(true);
  });

  it("does not wait for the rest of a body for ever", async () => {
    const quick = new InboundBudget({ limits: { ...defaultLimits, requestTimeoutMs: 20 } });
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(1)),
      cancel: () => {
        cancelled = true;
      },
    });
    await expect(post(body).readBody(size, quick)).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED" });
    await rounds();
    expect(cancelled).toBe(true);
  });
});
