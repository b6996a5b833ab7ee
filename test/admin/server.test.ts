import { renameSync } from "node:fs";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { defaultLimits, defaultLimitsOf, fixedLimits, heapLimit } from "../../src/core/limits.js";
import { RELEASE } from "../../src/core/release.js";
import { requestValues } from "../../src/http/body.js";
import type { Logger } from "../../src/index.js";
import { fixedLimitValues } from "../../src/server/admin.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { Receiver, refuse } from "../push/receiver.js";
import { temporaryFile } from "../store/sqlite/files.js";
import { setConstants } from "../support/constants.js";
import { seriesIn, sumOf } from "../telemetry/read.js";
import { pagesOf } from "./task-world.js";
import { bearer, openWorld, tokens, type World } from "./world.js";

let world: World | undefined;
afterEach(async () => world?.server.close({ graceMs: 0 }));

async function ask(
  path: string,
  body?: object,
  token: string = tokens.write,
): Promise<{ status: number; json: never }> {
  const answer = await fetch(`http://${world?.address}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...bearer(token), "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, json: (await answer.json()) as never };
}

/** A caller's request that sends a message. @param webhook of its task */
const requestOf = (text: string, webhook?: object): RequestInit => ({
  method: "POST",
  headers: { "x-key": tokens.caller, "content-type": "application/json" },
  body: JSON.stringify({
    message: { messageId: text, role: "ROLE_USER", parts: [{ text }] },
    configuration: { returnImmediately: true, ...(webhook && { taskPushNotificationConfig: webhook }) },
  }),
});

const send = (text: string, webhook?: object): Promise<Response> =>
  fetch(`${world?.server.url}/message:send`, requestOf(text, webhook));

describe("the server's state", () => {
  it("names versions, readiness, work and the store", async () => {
    world = await openWorld();
    expect((await send("wait server-state")).status).toBe(200);
    const { json } = await ask("/v1/server", undefined, tokens.read);
    expect(json).toMatchObject({
      readiness: "ready",
      agents: [{ name: "operated" }],
      running: "1",
      leases: "1",
      store: "memory",
      protocolVersions: expect.arrayContaining(["1.0", "0.3"]),
    });
    const listed = (await ask("/v1/executions")).json as { executions: { running: boolean; since: string }[] };
    expect(listed.executions).toMatchObject([{ running: true, task: { state: "TASK_STATE_WORKING" } }]);
    expect(Date.parse(listed.executions[0]?.since ?? "")).toBeLessThanOrEqual(Date.now());
  });

  it("lists executions that wait for a slot", async () => {
    world = await openWorld({}, { limits: { maxExecutions: 1, maxExecutionsPerOwner: 1, shutdownGraceMs: 50 } });
    for (const text of ["wait server-first", "wait server-second"]) await send(text);
    const listed = async (): Promise<object> => (await ask("/v1/executions")).json;
    await expect.poll(listed).toMatchObject({ executions: [{ running: true }, {}] });
    expect(await listed()).not.toMatchObject({ executions: [{}, { running: true }] });
    expect((await ask("/v1/server")).json).toMatchObject({ running: "1", waiting: "1" });
  });

  it("has the start of the process and the number of tasks that wait for a person", async () => {
    world = await openWorld();
    for (const text of ["ask server-ask", "auth server-auth", "wait server-wait", "echo"]) await send(text);
    const server = async (): Promise<Record<string, string>> => (await ask("/v1/server")).json;
    await expect.poll(server).toMatchObject({ interrupted: "2" });
    expect(Date.parse((await server()).started ?? "")).toBe(Math.round(performance.timeOrigin));
  });

  it("lists executions on pages, by the ids of their tasks", async () => {
    world = await openWorld();
    for (const text of ["one", "two", "three"]) await send(`wait server-${text}`);
    type Listed = { executions?: { task: { taskId: string } }[]; nextPageToken?: string };
    const read = async ({ pageSize, pageToken }: { pageSize: number; pageToken: string }) => {
      const path = `/v1/executions?pageSize=${pageSize}&pageToken=${pageToken}`;
      const { executions = [], nextPageToken = "" }: Listed = (await ask(path)).json;
      return { items: executions.map(({ task }) => task.taskId), nextPageToken };
    };
    const { items, nextPageToken } = await read({ pageSize: 3, pageToken: "" });
    expect([items.length, nextPageToken]).toEqual([3, ""]);
    expect(items).toEqual(items.toSorted());
    expect(await pagesOf(read)).toEqual(items);
  });

  it("counts streams, executions that wait and dead deliveries, and names releases and the size of the store", async () => {
    const receiver = await Receiver.start(refuse(410));
    onTestFinished(() => receiver.stop());
    const store = sqliteStore(temporaryFile());
    const push = { allowHttp: true, allow: ["127.0.0.1"], ports: [receiver.port] };
    world = await openWorld({}, { store, push, limits: { shutdownGraceMs: 50, maxExecutions: 1 } });
    await send("wait server-first", { id: "hook", url: receiver.url("/gone") });
    await send("wait server-second");
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const stream = await fetch(`${world.server.url}/message:stream`, {
      ...requestOf("wait server-third"),
      signal: stop.signal,
    });
    expect(stream.status).toBe(200);
    const server = async (): Promise<Record<string, unknown>> => (await ask("/v1/server")).json;
    await expect.poll(server, { timeout: 10_000 }).toMatchObject({
      version: RELEASE,
      nodeVersion: process.versions.node,
      store: "sqlite",
      streams: "1",
      running: "1",
      waiting: "2",
      deadDeliveries: "1",
      storeBytes: expect.stringMatching(/^[1-9]\d{4,}$/),
    });
    stop.abort();
    await expect.poll(async () => (await server()).streams ?? "0").toBe("0");
  });

  it("counts calls, commits, deliveries and memory, and names the process and its store", async () => {
    const held: (() => void)[] = [];
    const receiver = await Receiver.start((_hit, response) => void held.push(() => response.writeHead(204).end()));
    onTestFinished(() => receiver.stop());
    const store = sqliteStore({ path: temporaryFile(), shared: true });
    const push = { allowHttp: true, allow: ["127.0.0.1"], ports: [receiver.port] };
    world = await openWorld({}, { store, push, retentionMs: 86_400_000 });
    const server = async (): Promise<Record<string, unknown>> => (await ask("/v1/server")).json;
    // JSON omits zeros.
    for (const name of ["calls", "endedCalls", "deliveries"]) expect(await server()).not.toHaveProperty(name);
    await send("wait server-numbers", { id: "hook", url: receiver.url("/held") });
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    await fetch(`${world.server.url}/message:stream`, { ...requestOf("wait server-calls"), signal: stop.signal });
    await expect.poll(() => held.length).toBeGreaterThan(0);
    const shown = await server();
    const { tasks } = (await ask("/v1/tasks")).json as { tasks: { lease: { holder: string } }[] };
    expect(shown).toMatchObject({
      ...{ calls: "1", endedCalls: "1", deliveries: "1", shared: true, retentionMs: "86400000" },
      agents: [{ name: "operated", version: "1.2.3" }],
      holder: tasks[0]?.lease.holder,
      commits: expect.stringMatching(/^[1-9]/),
      commitSeconds: expect.any(Number),
      memoryBytes: expect.stringMatching(/^\d{7,}$/),
    });
    expect(Number(shown.commitSeconds)).toBeGreaterThan(0);
    for (const end of held) end();
  });

  it("says why it is not ready while the store is not healthy", async () => {
    const path = temporaryFile();
    world = await openWorld({}, { store: sqliteStore(path) });
    renameSync(path, `${path}-elsewhere`);
    const state = async (): Promise<unknown> => (await ask("/v1/server")).json;
    await expect.poll(state, { timeout: 10_000 }).toMatchObject({
      readiness: "unavailable",
      readinessReason: expect.stringMatching(/removed or moved/),
    });
    renameSync(`${path}-elsewhere`, path);
    await expect.poll(state, { timeout: 10_000 }).toMatchObject({ readiness: "ready" });
    expect(await state()).not.toHaveProperty("readinessReason", expect.stringMatching(/./));
  });

  it.each([
    ["rita", "read"],
    ["wendy", "write"],
  ] as const)("tells %s the role %s", async (name, role) => {
    world = await openWorld();
    expect(await ask("/v1/operator", undefined, tokens[role])).toEqual({ status: 200, json: { name, role } });
  });

  it("has every limit by name, with its value, its default and what it has refused", async () => {
    setConstants(requestValues, { max: 100 });
    const changed = { shutdownGraceMs: 50, maxOpenTasksPerOwner: 1, maxParts: 5 };
    world = await openWorld({}, { limits: changed });
    await send("wait server-limits");
    expect((await send("wait server-limits-2")).status).toBe(429);
    const body = JSON.stringify({ metadata: { list: Array.from({ length: 40_000 }, () => 1) } });
    expect((await fetch(`${world.server.url}/message:send`, { ...requestOf(""), body })).status).toBe(413);
    const defaults = { ...defaultLimitsOf(heapLimit()), ...fixedLimitValues() };
    const values: Record<string, number> = { ...defaults, ...changed };
    const refused: Record<string, number> = { maxOpenTasksPerOwner: 1, maxRequestValues: 1 };
    const names = [...Object.keys(defaultLimits), ...Object.keys(fixedLimits)].toSorted();
    const { limits } = (await ask("/v1/limits")).json as { limits: object[] };
    // JSON omits zeros.
    expect(limits.map((limit) => ({ value: 0, defaultValue: 0, refused: "0", ...limit }))).toEqual(
      names.map((name) => ({
        ...{ name, value: values[name], defaultValue: defaults[name as keyof typeof defaults] },
        refused: `${refused[name] ?? 0}`,
      })),
    );
    expect(values).toMatchObject({ maxRequestValues: 100, maxAdminCalls: 64, maxWaitingTurns: 64 });
  });
});

describe("GET /metrics", () => {
  it("is there with the option alone, for operators alone", async () => {
    world = await openWorld();
    expect((await ask("/metrics")).status).toBe(404);
    await world.server.close();
    world = await openWorld({}, { metrics: true });
    await send("echo");
    const url = `http://${world.address}/metrics`;
    expect((await fetch(url)).status).toBe(401);
    const answer = await fetch(url, { headers: bearer(tokens.read) });
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const series = seriesIn(await answer.text());
    expect(sumOf(series, "parley_calls_total", { method: "SendMessage", code: "OK", binding: "rest" })).toBe(1);
    expect((await fetch(`${world.server.url}/metrics`)).status).toBe(404);
  });
});

describe("the level of the log", () => {
  it("is set, and the one before is returned", async () => {
    const logger: Logger = { level: "warn", debug() {}, info() {}, warn() {}, error() {} };
    world = await openWorld({}, { logger });
    expect((await ask("/v1/server:setLogLevel", { level: "debug" })).json).toEqual({ previous: "warn" });
    expect(logger.level).toBe("debug");
    expect((await ask("/v1/server")).json).toMatchObject({ logLevel: "debug" });
    expect((await ask("/v1/server:setLogLevel", { level: "loud" })).status).toBe(400);
    expect((await ask("/v1/server:setLogLevel", { level: "info" }, tokens.read)).status).toBe(403);
    expect(logger.level).toBe("debug");
  });

  it("cannot be set for a logger without one", async () => {
    world = await openWorld();
    const { status, json } = await ask("/v1/server:setLogLevel", { level: "debug" });
    expect([status, json]).toMatchObject([400, { error: { status: "FAILED_PRECONDITION" } }]);
  });
});

describe("a drain", () => {
  it("refuses new calls and lets operators and running work go on", async () => {
    world = await openWorld();
    await send("wait server-drain");
    expect((await ask("/v1/server:drain", {})).json).toEqual({ running: "1" });
    const refused = await send("echo");
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toMatch(/^[1-9]/);
    expect((await fetch(`${world.server.url}/readyz`)).status).toBe(503);
    const { json } = await ask("/v1/server");
    expect(json).toMatchObject({ readiness: "draining", running: "1" });
    expect((await ask("/v1/server:drain", {})).json).toEqual({ running: "1" });
    await world.server.close({ graceMs: 0 });
    world = undefined;
  });
});
