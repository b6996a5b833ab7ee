import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { SendMessageRequest } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import type { Binding } from "../../src/client/discovery/interfaces.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { root } from "../e2e/support/build.js";
import { ServerProcess } from "../e2e/support/server-process.js";
import { Receiver } from "../push/receiver.js";
import { Collector } from "./support/collector.js";
import { attributesOf, dangling, type ReceivedSpan } from "./support/otlp-receiver.js";
import { succeed } from "./support/tool.js";

/*
 * Spans of servers with OpenTelemetry's SDK, as the OpenTelemetry Collector receives them. `--import` loads the SDK
 * into the command line, and the environment configures its exporter.
 */

const connect = connectWith(nodePlatform);
const here = join(root, "test", "interop", "telemetry");
const folder = mkdtempSync(join(tmpdir(), "parley-tracing-"));
const goFile = join(folder, "go");
const clients: A2AClient[] = [];
const soon = { timeout: 20_000 };
let otlp: Collector;
let webhook: Receiver;
let sub: ServerProcess;
let host: ServerProcess;

function launch(name: string, more: Readonly<Record<string, string>>, flags: readonly string[]): ServerProcess {
  const environment = {
    NODE_OPTIONS: `--import=${pathToFileURL(join(here, "register.mjs"))}`,
    OTEL_SERVICE_NAME: name,
    OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
    OTEL_METRICS_EXPORTER: "none",
    OTEL_LOGS_EXPORTER: "none",
    OTEL_BSP_SCHEDULE_DELAY: "100",
    ...more,
  };
  const under = ["env", ...Object.entries(environment).map(([key, value]) => `${key}=${value}`)];
  return ServerProcess.launch({ agent: join(here, `${name}.mjs`), store: join(folder, `${name}.db`), flags, under });
}

async function startHost(): Promise<void> {
  const push = ["--push", "--push-allow-http", "--push-allow", "127.0.0.1", "--push-ports", String(webhook.port)];
  host = launch("host", { SUB_URL: sub.url, GO_FILE: goFile }, push);
  await host.ready();
}

beforeAll(async () => {
  otlp = await Collector.start();
  webhook = await Receiver.start();
  sub = launch("sub", {}, []);
  await sub.ready();
  await startHost();
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await Promise.all([host, sub].map((server) => server.kill()));
  await webhook.stop();
  otlp.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function clientOf(binding: Binding): Promise<A2AClient> {
  const client = await connect(host.url, { bindings: [binding] });
  clients.push(client);
  return client;
}

/** A trace that a client has started elsewhere. */
function foreignTrace(): { traceId: string; spanId: string; headers: Record<string, string> } {
  const [traceId, spanId] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")];
  const authorization = "Bearer SECRETWORD";
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01`, tracestate: "v=1", authorization } };
}

const request = (text: string, path: string, returnImmediately = false) => ({
  message: {
    messageId: `message ${path}`,
    role: Role.USER,
    parts: [{ content: { case: "text" as const, value: `SECRETWORD ${text}` } }],
    referenceTaskIds: [],
    metadata: { key: "SECRETWORD" },
  },
  metadata: { key: "SECRETWORD" },
  configuration: {
    returnImmediately,
    taskPushNotificationConfig: { url: `${webhook.url(path)}?token=SECRETWORD`, token: "SECRETWORD" },
  },
});

/** Each span by its name and the names of its ancestors, the outermost last. */
function linesOf(spans: readonly ReceivedSpan[]): string[] {
  const line = (span: ReceivedSpan): string => {
    const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
    return parent === undefined ? nameOf(span) : `${nameOf(span)} < ${line(parent)}`;
  };
  return spans.map(line);
}

/**
 * The spans of a message to the host: its call, with the sub-agent and the webhook.
 * @param notifications number of notifications
 */
function treeOf(method: string, notifications: number): string[] {
  const call = `server ${method}`;
  const remote = `client SendStreamingMessage < delegate sub < turn Host < ${call}`;
  return [
    call,
    `turn Host < ${call}`,
    `work after a yield < turn Host < ${call}`,
    `step plan < turn Host < ${call}`,
    `work in a step < step plan < turn Host < ${call}`,
    `delegate sub < turn Host < ${call}`,
    remote,
    `server SendStreamingMessage < ${remote}`,
    `turn Sub < server SendStreamingMessage < ${remote}`,
    `work after a delegation < turn Host < ${call}`,
    // The call created the task, and the agent did everything else.
    `client push < ${call}`,
    ...Array.from({ length: notifications - 1 }, () => `client push < turn Host < ${call}`),
  ];
}

const nameOf = ({ kind, name }: ReceivedSpan): string => `${["", "", "server ", "client "][kind]}${name}`;

const bindings = ["GRPC", "CONNECT", "GRPC-WEB", "JSONRPC", "HTTP+JSON"] as const;

/** `rpc.system.name` and the status code of success, by binding. */
const systems: Readonly<Record<(typeof bindings)[number], readonly [string, string | undefined]>> = {
  GRPC: ["grpc", "OK"],
  CONNECT: ["connectrpc", undefined],
  "GRPC-WEB": ["grpc", "OK"],
  JSONRPC: ["jsonrpc", undefined],
  "HTTP+JSON": ["http_json", undefined],
};

describe.each(bindings)("a call over %s with the trace of another program", (binding) => {
  it.each(["SendMessage", "SendStreamingMessage"])("is one trace with all that it causes: %s", async (method) => {
    const client = await clientOf(binding);
    const { traceId, spanId, headers } = foreignTrace();
    const path = `/${binding}/${method}`;
    if (method === "SendMessage") await client.sendMessage(request("go", path), { headers });
    else for await (const _ of client.sendStreamingMessage(request("go", path), { headers }));
    const hits = (): Receiver["hits"] => webhook.hits.filter((hit) => hit.path.startsWith(`${path}?`));
    await expect.poll(() => hits().at(-1)?.body, soon).toContain("TASK_STATE_COMPLETED");
    const spans = (): ReceivedSpan[] => otlp.of(traceId);
    const expected = treeOf(method, hits().length);
    await expect.poll(() => linesOf(spans()).toSorted(), soon).toEqual(expected.toSorted());
    expect(dangling(spans(), [spanId])).toEqual([]);
    const [server] = spans().filter(
      ({ name, kind, parentSpanId }) => kind === 2 && name === method && parentSpanId === spanId,
    );
    const attributes = server && attributesOf(server);
    expect(attributes).toMatchObject({
      "a2a.method.name": method,
      "a2a.protocol.version": "1.0",
      "a2a.message.id": `message ${path}`,
      "a2a.task.state": "TASK_STATE_COMPLETED",
      "gen_ai.agent.name": "Host",
      "gen_ai.agent.version": "1.2.3",
      "gen_ai.agent.description": "Has others work.",
      "rpc.system.name": systems[binding][0],
      "rpc.method": `lf.a2a.v1.A2AService/${method}`,
      "client.address": "127.0.0.1",
      "server.address": "127.0.0.1",
      "server.port": expect.any(Number),
    });
    expect(attributes?.["rpc.response.status_code"]).toBe(systems[binding][1]);
    expect(attributes?.["gen_ai.conversation.id"]).toMatch(/./);
    // A webhook receives the id of its request's span.
    const posted = spans().filter(({ name }) => name === "push");
    const told = hits().map(({ headers: { traceparent } }) => traceparent);
    expect(told.toSorted()).toEqual(posted.map((span) => `00-${traceId}-${span.spanId}-01`).toSorted());
    for (const span of posted) {
      expect(attributesOf(span)).toMatchObject({
        "http.request.method": "POST",
        "server.address": "127.0.0.1",
        "a2a.task.id": attributes?.["a2a.task.id"],
      });
    }
  });

  it("tells why it was refused", async () => {
    const client = await clientOf(binding);
    const { traceId, headers } = foreignTrace();
    const refused = client.getTask({ id: "none" }, { headers });
    await expect(refused).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
    await expect.poll(() => otlp.of(traceId).map(nameOf), soon).toEqual(["server GetTask"]);
    const [span] = otlp.of(traceId);
    const code = {
      GRPC: "NOT_FOUND",
      "GRPC-WEB": "NOT_FOUND",
      CONNECT: "not_found",
      JSONRPC: "-32001",
      "HTTP+JSON": "404",
    };
    expect(span && attributesOf(span)).toMatchObject({
      "a2a.task.id": "none",
      "rpc.response.status_code": code[binding],
      "parley.error.reason": "TASK_NOT_FOUND",
    });
    // The server has answered correctly.
    expect(span?.status?.code ?? 0).toBe(0);
  });
});

/** The request of a message as JSON, with a webhook. */
const jsonRequest = (path: string) => ({
  message: { messageId: `message ${path}`, role: "ROLE_USER", parts: [{ text: "SECRETWORD go" }] },
  configuration: {
    taskPushNotificationConfig: { id: "hook", url: `${webhook.url(path)}?token=SECRETWORD`, token: "SECRETWORD" },
  },
});

/** Foreign clients, each with its caller's `traceparent`. */
const foreignClients: Readonly<Record<string, (path: string, traceparent: string) => Promise<unknown>>> = {
  curl: (path, traceparent) => {
    const headers = ["content-type: application/json", "a2a-version: 1.0", `traceparent: ${traceparent}`];
    const flags = ["-sS", "--fail", "--max-time", "60", ...headers.flatMap((header) => ["-H", header])];
    return succeed("curl", [...flags, "-d", JSON.stringify(jsonRequest(path)), `${host.url}/message:send`]);
  },
  "@a2a-js/sdk": async (path, traceparent) => {
    const client = await new ClientFactory().createFromUrl(host.url);
    const request = SendMessageRequest.fromJSON(jsonRequest(path));
    return client.sendMessage(request, { serviceParameters: { traceparent } });
  },
};

describe.each(Object.entries(foreignClients))("a message of %s", (name, send) => {
  it("is one trace through the host, the sub-agent and the webhook", async () => {
    const { traceId, spanId, headers } = foreignTrace();
    const path = `/foreign/${encodeURIComponent(name)}`;
    await send(path, headers.traceparent ?? "");
    const hits = (): Receiver["hits"] => webhook.hits.filter((hit) => hit.path.startsWith(`${path}?`));
    await expect.poll(() => hits().at(-1)?.body, soon).toContain("TASK_STATE_COMPLETED");
    const expected = treeOf("SendMessage", hits().length);
    await expect.poll(() => linesOf(otlp.of(traceId)).toSorted(), soon).toEqual(expected.toSorted());
    expect(dangling(otlp.of(traceId), [spanId])).toEqual([]);
    // Only the host's span is a child of the caller's.
    const below = otlp.of(traceId).filter(({ parentSpanId }) => parentSpanId === spanId);
    expect(below.map(nameOf)).toEqual(["server SendMessage"]);
    for (const hit of hits()) expect(hit.headers.traceparent).toContain(traceId);
  });
});

describe("a turn that a crash has interrupted", () => {
  it("begins a trace of its own, linked with the call", async () => {
    const client = await clientOf("JSONRPC");
    const { traceId, spanId, headers } = foreignTrace();
    const { payload } = await client.sendMessage(request("wait", "/killed", true), { headers });
    const id = payload.case === "task" ? payload.value.id : "";
    const names = (): string[] => otlp.of(traceId).map(({ name }) => name);
    await expect.poll(names, soon).toEqual(expect.arrayContaining(["SendMessage", "step plan", "work while it waits"]));
    await host.kill();
    writeFileSync(goFile, "");
    await startHost();
    const again = await clientOf("JSONRPC");
    await expect.poll(async () => (await again.getTask({ id })).status?.state, soon).toBe(TaskState.COMPLETED);
    const isRerun = (span: ReceivedSpan): boolean =>
      span.name === "turn Host" && attributesOf(span)["parley.turn.attempt"] === 2;
    await expect.poll(() => otlp.spans.some(isRerun), soon).toBe(true);
    const call = otlp.of(traceId).find(({ name }) => name === "SendMessage");
    const turn = otlp.spans.find(isRerun);
    expect(call?.parentSpanId).toBe(spanId);
    expect(turn?.parentSpanId ?? "").toBe("");
    expect(turn?.links).toMatchObject([{ traceId, spanId: call?.spanId }]);
    const rest = (): ReceivedSpan[] => otlp.of(turn?.traceId ?? "");
    await expect
      .poll(() => linesOf(rest()), soon)
      .toContain("turn Sub < server SendStreamingMessage < client SendStreamingMessage < delegate sub < turn Host");
    // The step returned its stored result without running again, so it has no second span.
    expect(rest().map(({ name }) => name)).not.toContain("step plan");
    expect(dangling(rest())).toEqual([]);
    // Spans that were open at the kill are lost: the turn, and with it the step's parent.
    const lost = new Set(dangling(otlp.of(traceId), [spanId]).map(({ parentSpanId }) => parentSpanId));
    expect(lost.size).toBe(1);
  });
});

describe("spans", () => {
  it("have nothing of messages, artifacts, metadata, credentials and URLs", () => {
    expect(otlp.spans.length).toBeGreaterThan(100);
    expect(otlp.text).not.toContain("SECRETWORD");
    expect(webhook.hits.some(({ body }) => body.includes("SECRETWORD"))).toBe(true);
  });

  it("that were open when a server ends are exported", async () => {
    const client = await clientOf("JSONRPC");
    const { traceId, headers } = foreignTrace();
    await client.sendMessage(request("go", "/last"), { headers });
    await host.stop();
    const names = (): string[] => otlp.of(traceId).map(({ name }) => name);
    expect(names()).toEqual(expect.arrayContaining(["SendMessage", "turn Host"]));
  });
});
