import { afterEach, describe, expect, it } from "vitest";
import type { Logger } from "../../src/index.js";
import { seriesIn, sumOf } from "../telemetry/read.js";
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

const send = (text: string): Promise<Response> =>
  fetch(`${world?.server.url}/message:send`, {
    method: "POST",
    headers: { "x-key": tokens.caller, "content-type": "application/json" },
    body: JSON.stringify({
      message: { messageId: text, role: "ROLE_USER", parts: [{ text }] },
      configuration: { returnImmediately: true },
    }),
  });

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

  it.each([
    ["rita", "read"],
    ["wendy", "write"],
  ] as const)("tells %s the role %s", async (name, role) => {
    world = await openWorld();
    expect(await ask("/v1/operator", undefined, tokens[role])).toEqual({ status: 200, json: { name, role } });
  });

  it("has every limit, with what it has refused", async () => {
    world = await openWorld({}, { limits: { shutdownGraceMs: 50, maxOpenTasksPerOwner: 1, maxParts: 5 } });
    await send("wait server-limits");
    expect((await send("wait server-limits-2")).status).toBe(429);
    const { limits } = (await ask("/v1/limits")).json as {
      limits: { name: string; value: number; defaultValue: number; refused?: string }[];
    };
    expect(limits.find(({ name }) => name === "maxOpenTasksPerOwner")).toMatchObject({ value: 1, refused: "1" });
    expect(limits.find(({ name }) => name === "maxParts")).toMatchObject({ value: 5, defaultValue: 1_000 });
    expect(limits.filter(({ refused }) => Number(refused ?? 0) > 0)).toHaveLength(1);
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
