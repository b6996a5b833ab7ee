import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Interceptor } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { connectWith } from "../../src/client/connect.js";
import { bindings } from "../../src/client/discovery/interfaces.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { webPlatform } from "../../src/client/web/platform.js";
import { A2AError } from "../../src/core/error.js";
import { isStream } from "../../src/service/invoke.js";
import { RESUME_EXTENSION } from "../../src/wire/service-params.js";
import { testTls } from "../server/tls.js";
import { cardJson, serveCards } from "./card-server.js";
import { closedPort, connect, echo, proxyTo, serve } from "./world.js";

const failure = (call: Promise<unknown>): Promise<A2AError> =>
  call.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );

/** A card with one interface for each of the named bindings. */
const cardOf = (interfaces: readonly (readonly [binding: string, url: string])[], more: object = {}): object =>
  cardJson({
    supportedInterfaces: interfaces.map(([protocolBinding, url]) => ({ protocolBinding, url, protocolVersion: "1.0" })),
    capabilities: { streaming: true },
    ...more,
  });

const request = (text: string) => ({
  message: { messageId: "m", role: 1, parts: [{ content: { case: "text" as const, value: text } }] },
});

describe.each(bindings)("connect() over %s", (binding) => {
  const only = { bindings: [binding] };

  it("gives a client that sends, streams, reads and lists", async () => {
    const server = await serve();
    const client = await connect(server.url, only);
    expect(client.card.name).toBe("Echo");
    const name = binding === "CONNECT" || binding === "GRPC-WEB" ? "urn:parley:binding:connect:v1" : binding;
    expect(client.interface.protocolBinding).toBe(name);
    expect((await client.send("say hi")).text).toBe("hi");
    let text = "";
    let taskId = "";
    for await (const update of client.stream("count")) {
      text += update.text;
      taskId = update.task?.id ?? taskId;
    }
    expect(text).toBe("one two three");
    expect((await client.getTask({ id: taskId })).status?.state).toBe(TaskState.COMPLETED);
    expect((await client.listTasks({})).totalSize).toBe(1);
  });

  it("rejects with the error of the protocol", async () => {
    const client = await connect((await serve()).url, only);
    const error = await failure(client.getTask({ id: "nope" }));
    expect(error).toBeInstanceOf(A2AError);
    expect(error).toMatchObject({ reason: "TASK_NOT_FOUND", metadata: { taskId: "nope" } });
    const loop = async () => {
      for await (const _ of client.subscribeToTask({ id: "nope" })) expect.fail("there is no such task");
    };
    expect(await failure(loop())).toMatchObject({ reason: "TASK_NOT_FOUND" });
    expect(await failure(client.sendMessage({}))).toMatchObject({ reason: "INVALID_PARAMS" });
  });

  it("sends version, extensions and the tenant of the interface", async () => {
    const server = await serve({ agent: undefined as never, agents: { one: echo } });
    const seen: Headers[] = [];
    const spy: Interceptor = (next) => (call) => {
      seen.push(call.header);
      return next(call);
    };
    const own = await connect(server.url, { ...only, extensions: ["urn:a"], interceptors: [spy] });
    expect(own.interface.tenant).toBe("one");
    expect((await own.send("say hi")).text).toBe("hi");
    await own.listTasks({}, { headers: { "a2a-extensions": "urn:b, urn:a" } });
    expect(seen.map((header) => [header.get("a2a-version"), header.get("a2a-extensions")])).toEqual([
      ["1.0", "urn:a"],
      ["1.0", "urn:a,urn:b"],
    ]);
    const asked = { tenant: "two" };
    expect(await failure(own.listTasks(asked))).toBeInstanceOf(A2AError);
    const other = await connect(server.url, { ...only, tenant: "two" });
    expect(await failure(other.listTasks({}))).toBeInstanceOf(A2AError);
  });

  it("goes by the next interface where this one cannot be reached, and comes back to it", async () => {
    const server = await serve();
    const port = Number(binding === "GRPC" ? server.grpcPort : new URL(server.url).port);
    const proxy = await proxyTo(port);
    const at = binding === "GRPC" ? proxy.host : `http://${proxy.host}`;
    const named = binding === "CONNECT" || binding === "GRPC-WEB" ? "urn:parley:binding:connect:v1" : binding;
    const card = cardOf([
      [named, at],
      ["JSONRPC", server.url],
    ]);
    const client = await connect(card, { prefer: binding, limits: { interfaceRestMs: 600_000 } });
    const returning = await connect(card, { prefer: binding, limits: { interfaceRestMs: 1 } });
    await client.listTasks({});
    await returning.listTasks({});
    expect(client.interface.url).toBe(at);
    proxy.mode = "close";
    proxy.cut();
    // Reads may be repeated over another interface, whatever happened on the first one.
    await client.listTasks({});
    expect(client.interface.url).toBe(server.url);
    await returning.listTasks({});
    proxy.mode = "pass";
    const before = proxy.connections;
    await client.listTasks({});
    expect(proxy.connections).toBe(before);
    await expect.poll(() => returning.interface.url).toBe(at);
    await returning.listTasks({});
    expect(proxy.connections).toBe(before + 1);
    expect(returning.interface.url).toBe(at);
  });

  it("sends by the next interface where nobody listens, and streams", async () => {
    const server = await serve();
    const port = await closedPort();
    const at = binding === "GRPC" ? `127.0.0.1:${port}` : `http://127.0.0.1:${port}`;
    const named = binding === "CONNECT" || binding === "GRPC-WEB" ? "urn:parley:binding:connect:v1" : binding;
    const card = cardOf([
      [named, at],
      ["HTTP+JSON", server.url],
    ]);
    const client = await connect(card, { prefer: binding });
    expect((await client.send("say hi")).text).toBe("hi");
    const streaming = await connect(card, { prefer: binding });
    const states = [];
    for await (const { payload } of streaming.sendStreamingMessage(request("count"))) states.push(payload.case);
    expect(states).toContain("artifactUpdate");
  });

  it("stops at once when its caller gives up", async () => {
    const server = await serve();
    const client = await connect(server.url, only);
    const gone = new AbortController();
    const waiting = failure(client.send("wait", { signal: gone.signal }));
    await expect.poll(async () => (await client.listTasks({})).totalSize).toBe(1);
    gone.abort();
    expect((await waiting).reason).toBe("CANCELLED");
    const already = failure(client.listTasks({}, { signal: gone.signal }));
    expect((await already).reason).toBe("CANCELLED");
  });

  it("is closed, and what was under way is not made again", async () => {
    const server = await serve();
    const client = await connect(server.url, only);
    const by = await connect(server.url, only);
    const waiting = failure(client.send("wait"));
    await expect.poll(async () => (await by.listTasks({})).totalSize).toBe(1);
    const updates = client.stream("wait");
    await updates.next();
    const streaming = failure(
      (async () => {
        for await (const _ of updates);
      })(),
    );
    await client.close();
    expect(await waiting).toMatchObject({ reason: "UNAVAILABLE", metadata: { arrival: "unknown" } });
    expect((await waiting).message).toContain("The client was closed.");
    expect((await streaming).message).toBe("The client is closed.");
  });

  it("keeps the deadline of a call, and its own for calls that name none", async () => {
    const server = await serve();
    const client = await connect(server.url, { ...only, limits: { sendTimeoutMs: 300 } });
    expect((await failure(client.sendMessage(request("wait")))).reason).toBe("DEADLINE_EXCEEDED");
    const own = await connect(server.url, only);
    expect((await failure(own.sendMessage(request("wait"), { timeoutMs: 300 }))).reason).toBe("DEADLINE_EXCEEDED");
  });

  it("sends for as long as its caller wants, or without an end", async () => {
    const server = await serve();
    const client = await connect(server.url, { ...only, limits: { sendTimeoutMs: 300 } });
    const waiting = Promise.all([0, 60_000].map((timeoutMs) => client.send("wait", { timeoutMs })));
    expect((await failure(client.send("wait"))).reason).toBe("DEADLINE_EXCEEDED");
    const { tasks } = await client.listTasks({});
    await Promise.all(tasks.map(({ id }) => client.cancelTask({ id })));
    expect((await waiting).map(({ state }) => state)).toEqual([TaskState.CANCELED, TaskState.CANCELED]);
    const updates = client.stream("count", { timeoutMs: 0 });
    for await (const { task } of updates) expect(task?.id).not.toBe("");
  });

  it("sends once under a key what was cut off, where the agent says that it may", async () => {
    const server = await serve();
    const port = Number(binding === "GRPC" ? server.grpcPort : new URL(server.url).port);
    const proxy = await proxyTo(port);
    const { card } = await connect(server.url);
    const at = binding === "GRPC" ? proxy.host : `http://${proxy.host}`;
    const named = binding === "CONNECT" || binding === "GRPC-WEB" ? "urn:parley:binding:connect:v1" : binding;
    const extensions = card.capabilities?.extensions.map(({ uri }) => ({ uri }));
    const promising = cardOf([[named, at]], { capabilities: { extensions } });
    const client = await connect(promising, { prefer: binding });
    const reader = await connect(server.url);
    const sent = client.sendMessage({ ...request("hold on"), configuration: { returnImmediately: false } });
    await sent;
    const waiting = client.sendMessage(request("wait"));
    await expect.poll(async () => (await reader.listTasks({})).totalSize).toBe(2);
    proxy.cut();
    await expect.poll(() => proxy.connections).toBeGreaterThan(1);
    const tasks = (await reader.listTasks({})).tasks;
    expect(tasks).toHaveLength(2);
    await reader.cancelTask({ id: tasks[0]?.id ?? "" });
    const { payload } = await waiting;
    expect(payload).toMatchObject({ case: "task", value: { status: { state: TaskState.CANCELED } } });
    expect((await reader.listTasks({})).totalSize).toBe(2);
  });

  it("does not send again what may have arrived, where the agent promises nothing", async () => {
    const server = await serve();
    const port = Number(binding === "GRPC" ? server.grpcPort : new URL(server.url).port);
    const proxy = await proxyTo(port);
    const at = binding === "GRPC" ? proxy.host : `http://${proxy.host}`;
    const named = binding === "CONNECT" || binding === "GRPC-WEB" ? "urn:parley:binding:connect:v1" : binding;
    const card = cardOf([
      [named, at],
      ["JSONRPC", server.url],
    ]);
    const client = await connect(card, { prefer: binding });
    const reader = await connect(server.url);
    const waiting = failure(client.sendMessage(request("wait")));
    await expect.poll(async () => (await reader.listTasks({})).totalSize).toBe(1);
    proxy.cut();
    expect(await waiting).toMatchObject({ reason: "UNAVAILABLE", metadata: { arrival: "unknown" } });
    expect((await reader.listTasks({})).totalSize).toBe(1);
  });

  it("ends the call when its caller leaves the loop over a stream", async () => {
    let open = 0;
    const server = await serve({
      interceptors: [
        (next) => async (invocation) => {
          const answer = await next(invocation);
          if (!isStream(answer)) return answer;
          open += 1;
          return (async function* () {
            try {
              yield* answer;
            } finally {
              open -= 1;
            }
          })();
        },
      ],
    });
    const client = await connect(server.url, only);
    for await (const { payload } of client.sendStreamingMessage(request("wait"))) {
      expect(open).toBe(1);
      if (payload.case === "statusUpdate") break;
    }
    await expect.poll(() => open, { timeout: 10_000 }).toBe(0);
  });
});

describe("connect()", () => {
  it.each([
    [{ text: "x" }, "parts"],
    [{ parts: { text: "x" } }, "parts"],
    [[{ txt: "x" }], "parts[0]"],
    [undefined, "message"],
    [7, "message"],
  ])("says what is wrong with %j as a message", async (message, field) => {
    const client = await connect(cardOf([["JSONRPC", "http://127.0.0.1:1"]]));
    expect(await failure(client.send(message as never))).toMatchObject({
      reason: "INVALID_PARAMS",
      violations: [{ field, description: expect.stringContaining("parts") }],
    });
  });

  it("reads again what failed for the moment, when the server says", async () => {
    let left = 2;
    const server = await serveCards((_, response) => {
      if (left-- > 0) return response.writeHead(503, { "retry-after": "0" }).end();
      response
        .setHeader("content-type", "application/json")
        .end('{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":7}');
    });
    const client = await connect(cardOf([["HTTP+JSON", server.url]]));
    expect((await client.listTasks({})).totalSize).toBe(7);
    expect(server.got.length).toBe(3);
    left = 99;
    expect(await failure(client.listTasks({}))).toMatchObject({ reason: "UNAVAILABLE" });
    expect(server.got.length).toBe(7);
    expect(await failure(client.cancelTask({ id: "t" }))).toMatchObject({ reason: "UNAVAILABLE" });
    expect(server.got.length).toBe(8);
  });

  it("does not begin to wait beyond the deadline of a call", async () => {
    const server = await serveCards((_, response) => response.writeHead(503, { "retry-after": "20" }).end());
    const client = await connect(cardOf([["HTTP+JSON", server.url]]));
    expect(await failure(client.listTasks({}, { timeoutMs: 10_000 }))).toMatchObject({ retryAfterMs: 20_000 });
    expect(server.got.length).toBe(1);
  });

  it("gives up a wait between attempts with its caller", async () => {
    const server = await serveCards((_, response) => response.writeHead(503, { "retry-after": "20" }).end());
    const client = await connect(cardOf([["HTTP+JSON", server.url]]));
    const gone = new AbortController();
    const reading = failure(client.listTasks({}, { signal: gone.signal }));
    await expect.poll(() => server.got.length).toBe(1);
    await sleep(50);
    gone.abort();
    expect((await reading).reason).toBe("CANCELLED");
  });

  it("keeps a card that it fetched for the next client, as its server allows", async () => {
    const cards = await serveCards((_, response) => {
      response.setHeader("cache-control", "max-age=60").end(JSON.stringify(cardJson()));
    });
    await connect(cards.url);
    await connect(cards.url);
    expect(cards.got.length).toBe(1);
    await connect(cards.url, { card: { cache: false } });
    await connect(cards.url, { card: { headers: { "x-a": "1" } } });
    await connect(cards.url, { card: { headers: { "x-a": "1" } } });
    expect(cards.got.length).toBe(4);
  });

  it("gives nobody a card that another client fetched over TLS that it trusts alone, or by its own fetch", async () => {
    const card = JSON.stringify(cardJson());
    const server = createServer(testTls, (_, response) => {
      response.setHeader("cache-control", "max-age=60").end(card);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connectBySockets = connectWith(nodePlatform);
    await connectBySockets(url, { tls: { ca: testTls.cert } });
    expect((await failure(connectBySockets(url))).message).toContain("the certificate of the host is not trusted");
    const connectByFetch = connectWith(webPlatform);
    const named = (name: string) => async () =>
      new Response(JSON.stringify(cardJson({ name })), { headers: { "cache-control": "max-age=60" } });
    for (const name of ["one", "two"]) {
      expect((await connectByFetch("http://agent.example", { fetch: named(name) })).card.name).toBe(name);
    }
  });

  it("asks Parley by the tag when the time of its card is over", async () => {
    const server = await serve();
    const first = await connect(server.url, { limits: { maxCardAgeMs: 0 } });
    const second = await connect(server.url, { limits: { maxCardAgeMs: 0 } });
    expect(second.card).toEqual(first.card);
  });

  it("reads the card for callers that are known, where there is one", async () => {
    const client = await connect((await serve()).url);
    expect(await failure(client.extendedCard())).toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
    const extendedCard = { ...echo.card, description: "Says more." };
    const other = await serve({
      agent: { ...echo, extendedCard },
      authenticator: { authenticate: async () => ({ owner: "me" }) },
    });
    const known = await connect(other.url);
    expect((await known.extendedCard()).description).toBe("Says more.");
  });

  it("lets no call begin after it was closed", async () => {
    const client = await connect((await serve()).url);
    await client.close();
    await client.close();
    expect(await failure(client.listTasks({}))).toMatchObject({
      reason: "INVALID_REQUEST",
      message: "The client is closed.",
    });
    expect(await failure(client.send("say hi"))).toMatchObject({ message: "The client is closed." });
    expect(await failure(client.stream("say hi").next())).toMatchObject({ message: "The client is closed." });
  });

  it("resumes with Parley's extension, which it finds in the card", async () => {
    const client = await connect((await serve()).url);
    expect(client.card.capabilities?.extensions.map(({ uri }) => uri)).toContain(RESUME_EXTENSION);
    for await (const { generation } of client.stream("count")) expect(generation).toBeGreaterThan(0);
  });

  it.each([
    [{ prefr: "GRPC" }, "the option prefr is not known: did you mean prefer?"],
    [{ prefer: "grpc" }, 'prefer is "grpc", not "GRPC", "CONNECT", "JSONRPC", "HTTP+JSON" or "GRPC-WEB"'],
    [{ bindings: [] }, "bindings is empty"],
    [{ extensions: ["a b"] }, 'extensions[0] is "a b", not a URI'],
    [{ interceptors: ["x"] }, 'interceptors[0] is "x", not a function'],
    [{ tenant: 1 }, "tenant is 1, not a text"],
    [{ limits: { maxCardBytes: 0 } }, "limits.maxCardBytes is 0, not a whole number from 1 to 2147483647"],
    [{ limits: { timeout: 1 } }, "limits.timeout is not known"],
  ])("says what is wrong with the options %j", async (options, message) => {
    const error = await failure(connectWith(nodePlatform)(cardJson(), options as never));
    expect(error).toMatchObject({ reason: "INVALID_PARAMS", message: expect.stringContaining(message) });
  });
});
