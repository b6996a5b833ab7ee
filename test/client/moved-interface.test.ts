import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { httpBearerScheme } from "../../src/auth/index.js";
import type { A2AClient } from "../../src/client/client.js";
import { bearer } from "../../src/client/credentials/bearer.js";
import { readCard } from "../../src/client/discovery/card-reader.js";
import { type Binding, bindings } from "../../src/client/discovery/interfaces.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { A2AError } from "../../src/core/error.js";
import type { Server } from "../../src/server/create-server.js";
import { IDEMPOTENCY_EXTENSION } from "../../src/wire/service-params.js";
import { cover } from "../support/cover.js";
import { pairs } from "../support/covering.js";
import { cardJson, serveCards } from "./card-server.js";
import { atEnd, connect, echo, serve } from "./world.js";

/** Every way to call our own server in a version that its cards name. */
const ways: readonly (readonly [version: string, binding: Binding])[] = [
  ...bindings.map((binding) => ["1.0", binding] as const),
  ["0.3", "JSONRPC"],
  ["0.3", "HTTP+JSON"],
  ["0.3", "GRPC"],
];

/** Calls that return the echoed text or the reason of the error. */
const calls: Readonly<Record<string, (client: A2AClient) => Promise<string>>> = {
  "one answer": async (client) => (await client.send("say hi")).text,
  "a stream": async (client) => {
    let text = "";
    for await (const update of client.stream("say hi")) text += update.text;
    return text;
  },
  "a method": (client) => client.getTask({ id: "nowhere" }).then(({ id }) => id, reasonOf),
};
const expected = { "one answer": "hi", "a stream": "hi", "a method": "TASK_NOT_FOUND" } as Readonly<
  Record<string, string>
>;
const reasonOf = ({ reason }: A2AError): string => reason;
const outcome = (client: A2AClient, name: string): Promise<string> | undefined => calls[name]?.(client).catch(reasonOf);

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Answers of programs that do not serve the path. */
const foreign: Readonly<Record<string, Answer>> = {
  "a plain 404": { status: 404, body: "Not here." },
  "a 404 in JSON": {
    status: 404,
    headers: { "content-type": "application/json" },
    body: '{"detail":"Not Found"}',
  },
  "a 405": { status: 405, headers: { "content-type": "text/html" }, body: "<h1>Method Not Allowed</h1>" },
  "a 410": { status: 410 },
};

/** Another program that gives every request the same answer. */
async function program(binding: Binding, { status, headers = {}, body = "" }: Answer) {
  const asked: string[] = [];
  const isGrpc = binding === "GRPC";
  const server = isGrpc
    ? createHttp2Server((request, response) => {
        asked.push(request.url);
        response.writeHead(status, headers).end(body);
      })
    : createServer((request, response) => {
        asked.push(request.url ?? "");
        response.writeHead(status, headers).end(body);
      });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, url: isGrpc ? host : `http://${host}/a2a` };
}

const named = (binding: Binding): string =>
  binding === "CONNECT" || binding === "GRPC-WEB" ? "urn:parley:binding:connect:v1" : binding;

const cardOf = (version: string, binding: Binding, url: string, more: object = {}): string =>
  JSON.stringify(
    cardJson({
      supportedInterfaces: [{ url, protocolBinding: named(binding), protocolVersion: version }],
      capabilities: { streaming: true },
      ...more,
    }),
  );

const urlOf = (server: Server, binding: Binding): string =>
  binding === "GRPC" ? `${new URL(server.url).hostname}:${server.grpcPort}` : server.url;

/** A client whose card is fresh for an hour, with the server of that card. */
async function clientOf(card: string, options: ClientOptions) {
  const present = { card };
  const { url, got } = await serveCards((_, response) => {
    response.setHeader("cache-control", "max-age=3600").end(present.card);
  });
  return { client: await connect(url, options), present, got };
}

/** Kinds of answers and calls by ways. `npm test` covers each pair. */
const replaced = cover(
  ways.flatMap((way) =>
    Object.keys(foreign).flatMap((kind) => Object.keys(calls).map((name) => ({ way, kind, name }))),
  ),
  ({ way, kind, name }) => pairs(way.join(" "), kind, name),
);

describe.each(ways)("an interface of A2A %s over %s that its server has no more", (version, binding) => {
  const only = { bindings: [binding] };

  describe.each(Object.keys(foreign))("and that answers with %s", (kind) => {
    const names = replaced.filter(({ way, ...one }) => one.kind === kind && way.join(" ") === `${version} ${binding}`);
    it.each(names)("is replaced by that of the present card, in a call for $name", async ({ name }) => {
      const other = await program(binding, foreign[kind] as Answer);
      const { client, present, got } = await clientOf(cardOf(version, binding, other.url), only);
      const moved = urlOf(await serve(), binding);
      present.card = cardOf(version, binding, moved);
      expect(await outcome(client, name)).toBe(expected[name]);
      expect(await outcome(client, name)).toBe(expected[name]);
      expect(client.interface.url).toBe(moved);
      expect([other.asked.length, got.length]).toEqual([1, 2]);
    });
  });

  it("is replaced each time that it moves, by one reading of the card for calls at the same time", async () => {
    const first = await program(binding, { status: 404 });
    const second = await program(binding, { status: 404 });
    const { client, present, got } = await clientOf(cardOf(version, binding, first.url), only);
    present.card = cardOf(version, binding, second.url);
    expect(await outcome(client, "one answer")).toBe("METHOD_NOT_FOUND");
    expect(client.interface.url).toBe(second.url);
    const moved = urlOf(await serve(), binding);
    present.card = cardOf(version, binding, moved);
    const names = Object.keys(calls).flatMap((name) => [name, name, name]);
    const outcomes = await Promise.all(names.map((name) => outcome(client, name)));
    expect(outcomes).toEqual(names.map((name) => expected[name]));
    expect(client.interface.url).toBe(moved);
    expect([first.asked.length, got.length]).toEqual([1, 3]);
  });

  it("fails as it did if the card names it still, names another one without the agent, or cannot be read", async () => {
    const other = await program(binding, { status: 404, body: "Not here." });
    const next = await program(binding, { status: 405 });
    const { client, present, got } = await clientOf(cardOf(version, binding, other.url), only);
    const failure = { reason: "METHOD_NOT_FOUND", metadata: { httpStatus: "404" } };
    await expect(client.send("say hi")).rejects.toMatchObject(failure);
    present.card = cardOf(version, binding, other.url, { description: "Is another one." });
    await expect(client.send("say hi")).rejects.toMatchObject(failure);
    present.card = "{}";
    await expect(client.send("say hi")).rejects.toMatchObject(failure);
    expect([other.asked.length, got.length]).toEqual([3, 4]);
    present.card = cardOf(version, binding, next.url);
    await expect(client.send("say hi")).rejects.toMatchObject({ reason: "METHOD_NOT_ALLOWED" });
    expect([other.asked.length, next.asked.length, got.length]).toEqual([4, 1, 5]);
  });

  it("costs no reading of the card for each call of a method that the server really lacks", async () => {
    const other = await program(binding, { status: 404 });
    const { client, present, got } = await clientOf(cardOf(version, binding, other.url), only);
    const now = performance.now.bind(performance);
    let laterMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + laterMs);
    atEnd(() => vi.restoreAllMocks());
    for (let call = 1; call <= 3; call++) expect(await outcome(client, "a method")).toBe("METHOD_NOT_FOUND");
    expect([other.asked.length, got.length]).toEqual([3, 2]);
    laterMs = 59_000;
    present.card = cardOf(version, binding, urlOf(await serve(), binding));
    expect(await outcome(client, "a method")).toBe("METHOD_NOT_FOUND");
    expect(got.length).toBe(2);
    laterMs = 61_000;
    expect(await outcome(client, "a method")).toBe("TASK_NOT_FOUND");
    expect([other.asked.length, got.length]).toEqual([5, 3]);
  });

  it("is looked up for other methods than the one that the server lacks, and after a card that did not come", async () => {
    const other = await program(binding, { status: 404 });
    const { client, present, got } = await clientOf(cardOf(version, binding, other.url), only);
    present.card = "{}";
    expect(await outcome(client, "a method")).toBe("METHOD_NOT_FOUND");
    present.card = cardOf(version, binding, other.url);
    expect(await outcome(client, "a method")).toBe("METHOD_NOT_FOUND");
    expect(got.length).toBe(3);
    present.card = cardOf(version, binding, urlOf(await serve(), binding));
    expect(await outcome(client, "one answer")).toBe("hi");
    expect(await outcome(client, "a method")).toBe("TASK_NOT_FOUND");
    expect([other.asked.length, got.length]).toEqual([3, 4]);
  });

  it("fails as it did if the caller gave the card", async () => {
    const other = await program(binding, { status: 404 });
    let read = 0;
    const verify = async (text: string) => {
      read += 1;
      return { verified: true, card: (await readCard(text, "It")).card, signatures: [] };
    };
    const client = await connect(cardOf(version, binding, other.url), { ...only, card: { verify } });
    for (const name of Object.keys(calls)) expect(await outcome(client, name)).toBe("METHOD_NOT_FOUND");
    expect([other.asked.length, read]).toEqual([3, 1]);
  });

  it("is not meant by an agent that does not know a task", async () => {
    const { client, got } = await clientOf(cardOf(version, binding, urlOf(await serve(), binding)), only);
    expect(await outcome(client, "a method")).toBe("TASK_NOT_FOUND");
    expect(got.length).toBe(1);
  });

  it("gives no credentials to a host that only the present card names", async () => {
    const shown: string[] = [];
    const check = (token: string) => {
      shown.push(token);
      return { owner: "me" };
    };
    const security = { schemes: { bearer: httpBearerScheme({ check }) } };
    const server = await serve({ agent: { ...echo, security }, host: "127.0.0.2" });
    const other = await program(binding, { status: 404 });
    const secured = {
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    };
    const options = { ...only, credentials: bearer("good") };
    const { client, present } = await clientOf(cardOf(version, binding, other.url), options);
    present.card = cardOf(version, binding, urlOf(server, binding), secured);
    for (const name of Object.keys(calls)) expect(await outcome(client, name)).toBe("UNAUTHENTICATED");
    expect(shown).toEqual([]);
  });

  it("does not keep a caller longer than its call may last, where the card does not arrive", async () => {
    const other = await program(binding, { status: 404 });
    let isFirst = true;
    const { url } = await serveCards((_, response) => {
      if (isFirst) response.end(cardOf(version, binding, other.url));
      isFirst = false;
    });
    const client = await connect(url, only);
    await expect(
      client.sendMessage({ message: { messageId: "m", role: 1 } }, { timeoutMs: 300 }),
    ).rejects.toMatchObject({ reason: "METHOD_NOT_FOUND" });
    const signal = AbortSignal.timeout(100);
    await expect(client.getTask({ id: "t" }, { signal })).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED" });
  });
});

/** Ways of 0.3 except HTTP+JSON, whose paths 1.0 reads as those of a tenant "v1". */
const older = ways.filter(([version, binding]) => version === "0.3" && binding !== "HTTP+JSON");

describe.each(older)("an agent that has given up A2A %s over %s", (...way) => {
  it.each(Object.keys(calls))("is called in its present version, in a call for %s", async (name) => {
    const [version, binding] = way;
    const url = urlOf(await serve({ versions: ["1.0"] }), binding);
    const { client, present, got } = await clientOf(cardOf(version, binding, url), { bindings: [binding] });
    present.card = cardOf("1.0", binding, url);
    expect(await outcome(client, name)).toBe(expected[name]);
    expect(client.interface.protocolVersion).toBe("1.0");
    expect(got.length).toBe(2);
  });
});

const envelope = (flag: number, content: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([flag, 0, 0, 0, content.length]), content]);

/** A stream that ends without a message. */
const inStream = (type: string, flag: number, text: string): Answer => ({
  status: 200,
  headers: { "content-type": type },
  body: envelope(flag, Buffer.from(text)),
});

const events = { status: 200, headers: { "content-type": "text/event-stream" } };

/** Answers of servers without the service or the method. */
const unimplemented: readonly (readonly [Binding, name: string, Answer])[] = [
  ["GRPC", "a stream", { status: 200, headers: { "content-type": "application/grpc", "grpc-status": "12" } }],
  ["GRPC", "one answer", { status: 200, headers: { "content-type": "application/grpc", "grpc-status": "12" } }],
  ["CONNECT", "a stream", inStream("application/connect+proto", 2, '{"error":{"code":"unimplemented"}}')],
  ["GRPC-WEB", "a stream", inStream("application/grpc-web+proto", 0x80, "grpc-status: 12\r\n")],
  ["JSONRPC", "a stream", { ...events, body: 'data: {"jsonrpc":"2.0","id":null,"error":{"code":-32601}}\n\n' }],
];

it.each(unimplemented)(
  "a service that a server over %s does not have is looked up for %s",
  async (binding, name, answer) => {
    const other = await program(binding, answer);
    const { client, present, got } = await clientOf(cardOf("1.0", binding, other.url), { bindings: [binding] });
    present.card = cardOf("1.0", binding, urlOf(await serve(), binding));
    expect(await outcome(client, name)).toBe("hi");
    expect([other.asked.length, got.length]).toEqual([1, 2]);
  },
);

it.each([
  ["CANCELLED", undefined],
  ["DEADLINE_EXCEEDED", new DOMException("Too late.", "TimeoutError")],
])("a stream that its caller ends while the card does not arrive fails with %s", async (reason, cause) => {
  const answer = inStream("application/connect+proto", 2, '{"error":{"code":"unimplemented"}}');
  const other = await program("CONNECT", answer);
  const controller = new AbortController();
  let count = 0;
  const { url } = await serveCards((_, response) => {
    if (count++ === 0) response.end(cardOf("1.0", "CONNECT", other.url));
    else controller.abort(cause);
  });
  const client = await connect(url, { bindings: ["CONNECT"] });
  const events = client.sendStreamingMessage({ message: { messageId: "m", role: 1 } }, { signal: controller.signal });
  await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject({ reason });
  expect(count).toBe(2);
});

it("a stream that fails after its first event is not sent elsewhere", async () => {
  const end = inStream("application/connect+proto", 2, '{"error":{"code":"unimplemented"}}');
  const event = toBinary(StreamResponseSchema, create(StreamResponseSchema, { payload: { case: "task", value: {} } }));
  const other = await program("CONNECT", {
    ...end,
    body: Buffer.concat([envelope(0, event), end.body as Buffer]),
  });
  const { client, present, got } = await clientOf(cardOf("1.0", "CONNECT", other.url), { bindings: ["CONNECT"] });
  present.card = cardOf("1.0", "CONNECT", (await serve()).url);
  const kinds: unknown[] = [];
  const read = async () => {
    const message = { messageId: "m", role: 1, parts: [{ content: { case: "text" as const, value: "say hi" } }] };
    for await (const { payload } of client.sendStreamingMessage({ message })) kinds.push(payload.case);
  };
  await expect(read()).rejects.toMatchObject({ reason: "METHOD_NOT_FOUND" });
  expect(kinds).toEqual(["task"]);
  expect([other.asked.length, got.length]).toEqual([1, 1]);
});

/** An agent that receives a message and cuts the connection. */
async function cutting() {
  let received = 0;
  const server = createServer((request) => {
    request.resume().on("end", () => {
      received += 1;
      request.socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received: () => received };
}

describe("a send to an interface that has moved", () => {
  const only = { bindings: ["JSONRPC"] as const };
  const idempotent = { capabilities: { streaming: true, extensions: [{ uri: IDEMPOTENCY_EXTENSION }] } };

  it("is not retried where the present card no longer declares idempotency", async () => {
    const other = await program("JSONRPC", { status: 404 });
    const next = await cutting();
    const { client, present } = await clientOf(cardOf("1.0", "JSONRPC", other.url, idempotent), only);
    present.card = cardOf("1.0", "JSONRPC", next.url);
    const error = await client.send("say hi").catch((thrown: A2AError) => thrown);
    expect(error).toMatchObject({ reason: "UNAVAILABLE", metadata: { arrival: "unknown" } });
    expect(error).toMatchObject({ message: expect.stringContaining("does not say that it may be sent again") });
    expect(next.received()).toBe(1);
  });

  it("is not repeated by a client with one attempt, whose next call uses the present card", async () => {
    const other = await program("JSONRPC", { status: 404 });
    const { client, present } = await clientOf(cardOf("1.0", "JSONRPC", other.url), {
      ...only,
      limits: { maxAttempts: 1 },
    });
    present.card = cardOf("1.0", "JSONRPC", (await serve()).url);
    expect(await outcome(client, "one answer")).toBe("METHOD_NOT_FOUND");
    expect(await outcome(client, "one answer")).toBe("hi");
    expect(other.asked.length).toBe(1);
  });

  it("tries all interfaces of the present card", async () => {
    const gone = ["http://127.0.0.1:1/one", "http://127.0.0.1:1/two"];
    const other = await program("JSONRPC", { status: 404 });
    const interfaces = (urls: readonly string[]) => ({
      supportedInterfaces: urls.map((url) => ({ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" })),
    });
    const card = cardOf("1.0", "JSONRPC", "", interfaces([gone[0] ?? "", other.url]));
    const { client, present } = await clientOf(card, only);
    present.card = cardOf("1.0", "JSONRPC", "", interfaces([gone[1] ?? "", (await serve()).url]));
    const events: unknown[] = [];
    for await (const event of client.sendStreamingMessage({
      message: { messageId: "m", role: 1, parts: [{ content: { case: "text", value: "say hi" } }] },
    }))
      events.push(event);
    expect(events).toHaveLength(1);
  });
});
