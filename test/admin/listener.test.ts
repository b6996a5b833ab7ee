import { once } from "node:events";
import * as http from "node:http";
import { connect } from "node:net";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Serving } from "../../gen/grpc/health/v1/health_pb.js";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { adminBounds } from "../../src/admin/limits.js";
import { bindings } from "./callers.js";
import { bearer, openWorld, tokens, type World } from "./world.js";

/** The listener of the operator's service: health, hosts, stalled clients, and the end of a server. */

const opened: World[] = [];
afterEach(async () => {
  for (const { server } of opened.splice(0)) await server.close();
});

async function open(...options: Parameters<typeof openWorld>): Promise<World> {
  const world = await openWorld(...options);
  opened.push(world);
  return world;
}

const get = (address: string, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`http://${address}${path}`, { headers });

describe("the listener of the operator's service", () => {
  it("answers health checks without credentials, and nothing else", async () => {
    const { address } = await open();
    expect((await get(address, "/healthz")).status).toBe(200);
    expect(await (await get(address, "/readyz")).json()).toEqual({ status: "ready" });
    expect((await get(address, "/v1/server")).status).toBe(401);
    const health = createClient(Health, createGrpcTransport({ baseUrl: `http://${address}` }));
    expect((await health.check({ service: AdminService.typeName })).status).toBe(Serving.SERVING);
  });

  it("challenges callers without credentials, and names no more than the scheme", async () => {
    const { address } = await open();
    const answer = await get(address, "/v1/tasks");
    expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="admin"');
    expect(answer.headers.get("x-request-id")).toMatch(/./);
    expect(answer.headers.get("access-control-allow-origin")).toBe(null);
  });

  it("answers only to its own names on a loopback address, against DNS rebinding", async () => {
    const { address } = await open();
    const [host = "", port = ""] = address.split(":");
    const statusAs = async (name: string): Promise<number | undefined> => {
      const request = http.get({ host, port, path: "/healthz", headers: { host: name } });
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    expect(await statusAs(`localhost:${port}`)).toBe(200);
    expect(await statusAs("rebound.example")).toBe(421);
  });

  it("refuses an overlong text and too many items by the descriptor alone", async () => {
    const { address } = await open();
    const caller = bindings.connect(address);
    const { cancelTask, redriveDeliveries } = AdminService.method;
    const taskId = "x".repeat(adminBounds.textLength + 1);
    const long = await caller.call(cancelTask, { taskId }, bearer(tokens.write));
    expect(long).toMatchObject({
      code: "INVALID_ARGUMENT",
      text: expect.stringContaining("taskId: must have at most"),
    });
    const keys = Array.from({ length: adminBounds.items + 1 }, () => ({ taskId: "t", configId: "c" }));
    const many = await caller.call(redriveDeliveries, { keys }, bearer(tokens.write));
    expect(many).toMatchObject({ code: "INVALID_ARGUMENT", text: expect.stringContaining("keys: must have at most") });
    const missing = await caller.call(redriveDeliveries, { keys: [{ taskId: "t" }] }, bearer(tokens.write));
    expect(missing.text).toContain("keys[0].configId: is required");
    caller.close();
  });

  it("has connections of its own: those of operators take none of callers", async () => {
    const { address, server, records } = await open();
    const [host = "", port = ""] = address.split(":");
    const sockets = Array.from({ length: adminBounds.connections + 1 }, () => {
      const socket = connect(Number(port), host);
      socket.on("error", () => {});
      return socket;
    });
    // The server refuses one connection at once. The others wait for their requests.
    await Promise.race(sockets.map((socket) => once(socket, "close")));
    expect(records).toContainEqual(
      expect.objectContaining({ event: "limit.hit", limit: "maxConnections", service: "admin" }),
    );
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it("refuses further streams, and counts none of them for callers", async () => {
    const { address, server } = await open({}, { limits: { maxStreams: 1, shutdownGraceMs: 50 } });
    const controller = new AbortController();
    const statuses: number[] = [];
    const follow = async (): Promise<number> => {
      const { signal } = controller;
      const answer = await fetch(`http://${address}/v1/tasks:follow`, { headers: bearer(tokens.read), signal });
      return answer.status;
    };
    // A stream stays open until its client leaves, because nothing changes. The last one exceeds the limit.
    const all = Array.from({ length: adminBounds.streams + 1 }, () => follow().then((status) => statuses.push(status)));
    const settled = Promise.allSettled(all);
    await Promise.any(all);
    expect(statuses).toEqual([429]);
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "echo hello" }] };
    const headers = { "x-key": tokens.caller, "content-type": "application/json", "a2a-version": "1.0" };
    const body = JSON.stringify({ message });
    const streamed = await fetch(`${server.url}/message:stream`, { method: "POST", headers, body });
    expect(streamed.status).toBe(200);
    await streamed.text();
    controller.abort();
    await settled;
  });

  it("serves an operator while another one stalls, and does not wait for it at the end", async () => {
    const { address, server } = await open();
    const [host = "", port = ""] = address.split(":");
    const socket = connect(Number(port), host);
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write("POST /v1/owners:delete HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{");
    expect((await get(address, "/v1/server", bearer(tokens.wrong))).status).toBe(401);
    const closed = once(socket, "close");
    await server.close();
    await closed;
  });

  it("stays open while the server drains, and tells it", async () => {
    const { address, server } = await open({}, { limits: { shutdownGraceMs: 60_000, cancelGraceMs: 50 } });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "wait" }] };
    const headers = { "x-key": tokens.caller, "content-type": "application/json", "a2a-version": "1.0" };
    const body = JSON.stringify({ message, configuration: { returnImmediately: true } });
    const sent = await fetch(`${server.url}/message:send`, { method: "POST", headers, body });
    const { task } = (await sent.json()) as { task: { id: string } };
    const ended = server.close({ graceMs: 3_000 });
    const readiness = await get(address, "/readyz");
    expect(readiness.status).toBe(503);
    expect(await readiness.json()).toEqual({ status: "draining" });
    expect(task.id).toMatch(/./);
    await ended;
    await expect(get(address, "/healthz")).rejects.toThrow();
  });

  it("is one for each server, with tokens of its own", async () => {
    const first = await open();
    const other = "other-token-4715-0123456789-0123456789";
    const second = await open({ tokens: [{ name: "olga", role: "read", token: other }] });
    const statusOf = async ({ address }: World, token: string): Promise<number> =>
      (await get(address, "/v1/executions?pageSize=x", bearer(token))).status;
    expect(await statusOf(first, tokens.read)).toBe(400);
    expect(await statusOf(first, other)).not.toBe(401);
    expect((await get(first.address, "/v1/server", bearer(other))).status).toBe(401);
    expect((await get(second.address, "/v1/server", bearer(other))).status).not.toBe(401);
    expect((await get(second.address, "/v1/server", bearer(tokens.read))).status).toBe(401);
  });
});
