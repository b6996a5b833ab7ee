import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { titleOf } from "../auth/world.js";
import { obedient } from "../conformance/agents.js";
import { begun, gates, leave, newGate, say } from "../limits/world.js";
import type { Driver } from "../support/driver.js";
import { bindings, grpcHttp } from "../support/drivers.js";
import { seriesOf, sumOf } from "./read.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Labels of a call by its driver: gRPC on the HTTP port counts as gRPC. */
const labelOf = (driver: string): string => (driver === "grpc-http" ? "grpc" : driver);

describe.each([...bindings, grpcHttp].map((binding) => [titleOf(binding), binding] as const))(
  "over %s",
  (title, binding) => {
    let server: Server;
    let driver: Driver;
    beforeAll(async () => {
      server = await createServer({
        agent: obedient("counted"),
        store: memoryStore(),
        port: 0,
        grpcPort: 0,
        metrics: true,
        limits: {
          shutdownGraceMs: 50,
          maxParts: 2,
          maxMessageBytes: 10_000,
          maxRequestBytes: 100_000,
          maxOpenTasksPerOwner: 3,
        },
      });
      driver = binding.connect({ url: server.url, grpcPort: server.grpcPort ?? 0 });
    });
    afterAll(async () => {
      driver.close();
      await server.close({ graceMs: 0 });
    });

    /** Growth of series by a cause. */
    const growth = async (
      cause: () => Promise<unknown>,
      name: string,
      labels: Record<string, string> = {},
    ): Promise<number> => {
      const before = sumOf(await seriesOf(server), name, labels);
      await cause();
      return sumOf(await seriesOf(server), name, labels) - before;
    };

    it.each([
      ["a call", () => driver.call("ListTasks", {}), "ListTasks", "OK"],
      ["a task that does not exist", () => driver.call("GetTask", { id: "none" }), "GetTask", "TASK_NOT_FOUND"],
      ["an invalid message", () => driver.call("SendMessage", { message: {} }), "SendMessage", "INVALID_PARAMS"],
      ["a stream", () => driver.stream("SendStreamingMessage", say("echo")).rest(), "SendStreamingMessage", "OK"],
    ] as const)("%s is counted, with its duration", async (_, cause, method, code) => {
      const labels = { binding: labelOf(title), method, version: "1.0", code };
      expect(await growth(cause, "parley_calls_total", labels)).toBe(1);
      expect(await growth(cause, "parley_call_duration_seconds_count", labels)).toBe(1);
    });

    it("a stream is open until its client leaves, and then cancelled", async () => {
      const gate = newGate();
      const labels = { method: "SendStreamingMessage" };
      const { stream } = await begun(driver, "SendStreamingMessage", say(`wait ${gate}`), {});
      const open = await seriesOf(server);
      expect(sumOf(open, "parley_calls_open", labels)).toBe(1);
      expect(sumOf(open, "parley_executions_running")).toBe(1);
      expect(sumOf(open, "parley_tasks_open")).toBe(1);
      const before = sumOf(open, "parley_calls_total", { ...labels, code: "CANCELLED" });
      stream.hangUp();
      await expect
        .poll(async () => sumOf(await seriesOf(server), "parley_calls_total", { ...labels, code: "CANCELLED" }))
        .toBe(before + 1);
      expect(sumOf(await seriesOf(server), "parley_calls_open")).toBe(0);
      gates.open(gate);
      await expect.poll(async () => sumOf(await seriesOf(server), "parley_executions_running")).toBe(0);
    });

    it("an execution is counted by its outcome, with its entries and the time to its first event", async () => {
      const cause = (): Promise<unknown> => driver.call("SendMessage", say("echo"));
      for (const [name, labels] of [
        ["parley_executions_total", { outcome: "completed" }],
        ["parley_execution_duration_seconds_count", {}],
        ["parley_first_event_seconds_count", {}],
      ] as const) {
        const before = sumOf(await seriesOf(server), name, labels);
        await cause();
        await expect.poll(async () => sumOf(await seriesOf(server), name, labels)).toBe(before + 1);
      }
      expect(await growth(cause, "parley_entries_total")).toBeGreaterThanOrEqual(2);
      expect(await growth(cause, "parley_append_duration_seconds_count")).toBeGreaterThanOrEqual(1);
    });

    it.each([
      ["maxParts", () => driver.call("SendMessage", say("", { parts: [1, 2, 3].map(() => ({ text: "a" })) }))],
      ["maxMessageBytes", () => driver.call("SendMessage", say("x".repeat(20_000)))],
      ["maxRequestBytes", () => driver.call("SendMessage", say("x".repeat(200_000)))],
    ] as const)("%s counts what it refuses", async (limit, cause) => {
      expect(await growth(cause, "parley_limit_refusals_total", { limit })).toBe(1);
    });

    it("a limit of work counts what it refuses", async () => {
      const gate = newGate();
      for (let i = 0; i < 3; i++) await driver.call("SendMessage", leave(`wait ${gate}`));
      const cause = (): Promise<unknown> => driver.call("SendMessage", leave("echo"));
      expect(await growth(cause, "parley_limit_refusals_total", { limit: "maxOpenTasksPerOwner" })).toBe(1);
      gates.open(gate);
      await expect.poll(async () => sumOf(await seriesOf(server), "parley_tasks_open")).toBe(0);
    });

    it("stays bounded when callers invent versions, tenants and hosts", async () => {
      await driver.call("ListTasks", {}, { headers: { "A2A-Version": "9.0" } });
      const { size } = await seriesOf(server);
      for (let i = 0; i < 50; i++) {
        await driver.call(
          "ListTasks",
          { tenant: `t${i}` },
          { headers: { "A2A-Version": `9.${i}`, "x-request-id": `${i}` } },
        );
      }
      expect((await seriesOf(server)).size).toBe(size);
    });
  },
);

describe("requests that never become calls", () => {
  it("are counted by binding and code", async () => {
    const server = await createServer({
      agent: obedient("counted"),
      store: memoryStore(),
      port: 0,
      grpcPort: 0,
      metrics: true,
    });
    await fetch(`${server.url}/`, { method: "POST", headers: { "content-type": "application/json" }, body: "{" });
    await fetch(`${server.url}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{",
    });
    for (const path of ["/a", "/b", "/c"]) await fetch(`${server.url}${path}`);
    const series = await seriesOf(server);
    const refused = (labels: Record<string, string>): number => sumOf(series, "parley_requests_refused_total", labels);
    expect(refused({ binding: "jsonrpc", code: "PARSE_ERROR" })).toBe(1);
    expect(
      refused({ binding: "rest", code: "PARSE_ERROR" }) + refused({ binding: "rest", code: "INVALID_PARAMS" }),
    ).toBe(1);
    expect(refused({ code: "METHOD_NOT_FOUND" })).toBe(3);
    await server.close();
  });
});
