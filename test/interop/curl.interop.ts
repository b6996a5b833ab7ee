import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { succeed } from "./support/tool.js";

const home = new Home();
let server: ServerProcess;

beforeAll(async () => {
  const features = await succeed("curl", ["--version"]);
  if (!features.includes("HTTP2")) throw new Error("This curl cannot speak HTTP/2; Debian's package curl can.");
  server = await home.start();
});

afterAll(() => home.leave());

/** The parts of an answer that curl prints. */
interface Shown {
  readonly status: number;
  /** Version of HTTP, as curl writes it: `1.1`, `2`. */
  readonly version: string;
  readonly headers: Headers;
  readonly body: string;
}

/** Runs curl on a path of the server. */
async function curl(path: string, ...flags: readonly string[]): Promise<Shown> {
  const printed = await succeed("curl", ["-sS", "--max-time", "30", "-i", ...flags, `${server.url}${path}`]);
  const at = printed.indexOf("\r\n\r\n");
  const [first = "", ...lines] = printed.slice(0, at).split("\r\n");
  const [, version = "", status] = /^HTTP\/(\S+) (\d+)/.exec(first) ?? [];
  const headers = new Headers(lines.map((line) => line.split(/:\s*(.*)/, 2) as [string, string]));
  return { status: Number(status), version, headers, body: printed.slice(at + 4) };
}

const json = ["-H", "content-type: application/json"];

/** Posts a body as in a typed command. */
function post(path: string, body: object, ...flags: readonly string[]): Promise<Shown> {
  return curl(path, ...json, "-d", JSON.stringify(body), ...flags);
}

const say = (text: string) => ({ message: { messageId: text, role: "ROLE_USER", parts: [{ text }] } });
const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: "c-1", method, params });

/** The ids and data of an event stream's frames. */
function frames(body: string): { id: number; data: Record<string, unknown> }[] {
  return body
    .split("\n\n")
    .map((frame) => /^id: (\d+)\ndata: (.*)$/.exec(frame))
    .flatMap((match) => (match === null ? [] : [{ id: Number(match[1]), data: JSON.parse(match[2] as string) }]));
}

describe("curl on the agent card", () => {
  it("reads it, and is told how long it may be kept", async () => {
    const { status, headers, body } = await curl("/.well-known/agent-card.json");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("cache-control")).toMatch(/max-age=\d+/);
    const { supportedInterfaces } = JSON.parse(body) as {
      supportedInterfaces: { url: string; protocolBinding: string }[];
    };
    const bindings = supportedInterfaces.map(({ protocolBinding }) => protocolBinding);
    expect(bindings).toEqual(expect.arrayContaining(["JSONRPC", "GRPC", "HTTP+JSON"]));
    for (const { url, protocolBinding } of supportedInterfaces) {
      expect(url).toBe(protocolBinding === "GRPC" ? `127.0.0.1:${server.grpcPort}` : server.url);
    }
  });

  it("is not sent it again when it has not changed", async () => {
    const { headers } = await curl("/.well-known/agent-card.json");
    const etag = headers.get("etag") ?? "";
    expect(etag).toMatch(/^(?:W\/)?"[^"]+"$/);
    const same = await curl("/.well-known/agent-card.json", "-H", `if-none-match: ${etag}`);
    expect(same).toMatchObject({ status: 304, body: "" });
    const other = await curl("/.well-known/agent-card.json", "-H", 'if-none-match: "another"');
    expect(other.status).toBe(200);
    const since = `if-modified-since: ${headers.get("last-modified") ?? ""}`;
    expect(await curl("/.well-known/agent-card.json", "-H", since)).toMatchObject({ status: 304, body: "" });
  });

  it("asks for its headers alone", async () => {
    const { status, headers, body } = await curl("/.well-known/agent-card.json", "--head");
    expect([status, body]).toEqual([200, ""]);
    expect(headers.get("etag")).not.toBeNull();
  });
});

describe("curl over HTTP+JSON", () => {
  it("sends a message, reads the task and lists it", async () => {
    const sent = await post("/message:send", { ...say("echo hello"), configuration: { historyLength: 0 } });
    expect(sent.status).toBe(200);
    expect(sent.headers.get("content-type")).toBe("application/a2a+json");
    const { task } = JSON.parse(sent.body) as { task: { id: string; contextId: string } };
    expect(task).toMatchObject({ artifacts: [{ parts: [{ text: "hello" }] }] });
    const got = await curl(`/tasks/${task.id}?historyLength=0`);
    expect(JSON.parse(got.body)).toEqual(task);
    const listed = await curl(`/tasks?contextId=${task.contextId}&includeArtifacts=true&historyLength=0`);
    expect(JSON.parse(listed.body)).toEqual({ tasks: [task], nextPageToken: "", pageSize: 50, totalSize: 1 });
  });

  it("cancels a task, with a body and without", async () => {
    for (const flags of [
      ["-X", "POST"],
      [...json, "-d", "{}"],
    ]) {
      const waiting = { ...say("wait 20000"), configuration: { returnImmediately: true } };
      const { task } = JSON.parse((await post("/message:send", waiting)).body) as { task: { id: string } };
      const canceled = await curl(`/tasks/${task.id}:cancel`, ...flags);
      expect(JSON.parse(canceled.body)).toMatchObject({ status: { state: "TASK_STATE_CANCELED" } });
    }
  });

  it("reads errors with their details", async () => {
    const { status, headers, body } = await curl("/tasks/nobody");
    expect(status).toBe(404);
    expect(headers.get("content-type")).toBe("application/a2a+json");
    expect(JSON.parse(body)).toMatchObject({
      error: { code: 404, status: "NOT_FOUND", details: [{ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" }] },
    });
    const wrongVerb = await curl("/tasks/nobody", "-X", "PUT");
    expect(wrongVerb.status).toBe(405);
    expect(wrongVerb.headers.get("allow")).toContain("GET");
    expect((await curl("/nothing/here/at/all")).status).toBe(404);
    expect((await curl("/message:send", ...json, "-d", "{")).status).toBe(400);
    expect((await curl("/message:send", "-H", "content-type: text/plain", "-d", "hello")).status).toBe(415);
  });

  it("waits for news", async () => {
    const waiting = { ...say("wait 300"), configuration: { returnImmediately: true } };
    const { task } = JSON.parse((await post("/message:send", waiting)).body) as { task: { id: string } };
    const extension = ["-H", "a2a-extensions: urn:parley:ext:resume:v1"];
    const { body } = await curl(`/tasks/${task.id}`, ...extension, "-H", "parley-after-generation: 2");
    expect(JSON.parse(body)).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" } });
  });
});

describe("curl on event streams", () => {
  it("reads one to its end, numbered", async () => {
    const { status, headers, body } = await post("/message:stream", say("stream 3 4"));
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(headers.get("cache-control")).toContain("no-cache");
    const events = frames(body);
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(events[0]?.data).toHaveProperty("task");
    expect(events[5]?.data).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  it("goes on after the last event that it saw, over HTTP+JSON and JSON-RPC", async () => {
    const seen = frames((await post("/message:stream", say("stream 3 4"))).body);
    const { id } = seen[0]!.data.task as { id: string };
    const resume = ["-H", "last-event-id: 3", "-H", "accept: text/event-stream"];
    const rest = frames((await curl(`/tasks/${id}:subscribe`, ...resume)).body);
    expect(rest.slice(1)).toEqual(seen.slice(3));
    expect(rest[0]).toMatchObject({ id: 3, data: { task: { id } } });
    const over = frames((await post("/", rpc("SubscribeToTask", { id }), ...resume)).body);
    expect(over.map((frame) => frame.data.result)).toEqual(rest.map((frame) => frame.data));
    expect(over.map((frame) => frame.id)).toEqual([3, 4, 5, 6]);
    const nothing = await curl(`/tasks/${id}:subscribe`, "-H", "last-event-id: 6");
    expect(nothing.status).toBe(400);
    expect(JSON.parse(nothing.body)).toMatchObject({ error: { details: [{ reason: "UNSUPPORTED_OPERATION" }] } });
  });

  it("is answered with an ordinary error where a stream cannot begin", async () => {
    const { status, headers } = await curl("/tasks/nobody:subscribe", "-H", "accept: text/event-stream");
    expect([status, headers.get("content-type")]).toEqual([404, "application/json"]);
    const over = await post("/", rpc("SubscribeToTask", { id: "nobody" }), "-H", "accept: text/event-stream");
    expect([over.status, over.headers.get("content-type")]).toEqual([200, "application/json"]);
  });
});

describe("curl over JSON-RPC", () => {
  it("calls methods", async () => {
    const { status, headers, body } = await post("/", rpc("SendMessage", say("say hi")));
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(JSON.parse(body)).toMatchObject({
      jsonrpc: "2.0",
      id: "c-1",
      result: { message: { role: "ROLE_AGENT", parts: [{ text: "hi" }] } },
    });
  });

  it("reads a stream", async () => {
    const { body } = await post("/", rpc("SendStreamingMessage", say("stream 2")));
    const events = frames(body);
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
    for (const { data } of events) expect(data).toMatchObject({ jsonrpc: "2.0", id: "c-1" });
  });

  it("reads errors", async () => {
    const errorOf = async (shown: Promise<Shown>): Promise<unknown> => JSON.parse((await shown).body).error;
    expect(await errorOf(post("/", rpc("GetTask", { id: "nobody" })))).toMatchObject({
      code: -32001,
      data: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND" }],
    });
    expect(await errorOf(post("/", rpc("NoSuchMethod", {})))).toMatchObject({ code: -32601 });
    expect(await errorOf(post("/", rpc("GetTask", {})))).toMatchObject({ code: -32602 });
    expect(await errorOf(post("/", { id: 1 }))).toMatchObject({ code: -32600 });
    expect(await errorOf(curl("/", ...json, "-d", "{"))).toMatchObject({ code: -32700 });
  });
});

describe("curl over HTTP/2 without TLS", () => {
  const h2 = "--http2-prior-knowledge";

  it("is served the card, both JSON bindings, and streams", async () => {
    expect(await curl("/.well-known/agent-card.json", h2)).toMatchObject({ status: 200, version: "2" });
    const sent = await post("/message:send", say("echo two"), h2);
    expect(sent).toMatchObject({ status: 200, version: "2" });
    const listed = await post("/", rpc("ListTasks", { pageSize: 1 }), h2);
    expect(JSON.parse(listed.body)).toMatchObject({ result: { pageSize: 1 } });
    const streamed = await post("/message:stream", say("stream 2"), h2);
    expect(frames(streamed.body).map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
  });

  it("stays with HTTP/1.1 where it offers an upgrade, which HTTP/2 has given up (RFC 9113, 3.1)", async () => {
    expect(await curl("/.well-known/agent-card.json", "--http2")).toMatchObject({ status: 200, version: "1.1" });
  });
});
