import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openWorld, runIn, type World } from "./world.js";

/** A run of a few calls. */
const few = ["bench", "--requests", "40", "--callers", "4", "--warmup", "50ms", "-o", "json"];

describe("bench", { timeout: 60_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld({ capabilities: { streaming: true } });
  });
  afterAll(() => world.close());
  beforeEach(() => {
    world.seen.splice(0);
    world.before = () => {};
  });

  const transports = ["jsonrpc", "rest", "grpc", "connect", "grpc-web"];
  const operations = [
    ["send", "SendMessage", "echo hi"],
    ["stream", "SendStreamingMessage", "stream 3"],
    ["get", "GetTask", "echo hi"],
  ] as const;
  const rows = transports.flatMap((transport) => operations.map((row) => [transport, ...row] as const));

  it.each(rows)("over %s measures %s", async (transport, operation, method, text) => {
    const argv = [...few, "-a", "AGENT", "--transport", transport, "--operation", operation, text];
    const { exit, json } = await world.run(argv);
    expect(exit).toBe(0);
    expect(json).toMatchObject({ operation, calls: 40, failed: 0, errors: {}, unfinished: 0, late: 0, callers: 4 });
    expect(json.perSecond).toBeCloseTo(json.calls / json.seconds, 5);
    const { p50, p90, p99, p999, max } = json.latency;
    expect([p50, p90, p99, p999, max]).toEqual([p50, p90, p99, p999, max].sort((a, b) => a - b));
    expect(p50).toBeGreaterThan(0);
    if (operation === "stream") {
      expect(json.events).toBeGreaterThanOrEqual(4 * 40);
      expect(json.firstEvent.p50).toBeLessThanOrEqual(json.latency.p50);
    } else expect([json.events, json.firstEvent]).toEqual([0, null]);
    const made = world.seen.filter((one) => one.method === method);
    expect(made.length).toBeGreaterThan(40);
    if (operation === "get") return;
    // Each call sends its own message with its own key.
    expect(new Set(made.map(({ request }) => request.message.messageId)).size).toBe(made.length);
    expect(new Set(made.map(({ header }) => header("idempotency-key"))).size).toBe(made.length);
  });

  it.each(transports)("over %s counts errors by kind", async (transport) => {
    let count = 0;
    world.before = ({ request, method }) => {
      if (method !== "SendMessage" || count++ % 2 === 0) return;
      request.id = "error-TOO_MANY_REQUESTS";
    };
    const { exit, json, err } = await world.run([...few, "-a", "AGENT", "--transport", transport, "echo hi"]);
    expect(exit).toBe(0);
    expect(json.calls + json.failed).toBe(40);
    expect(json.errors).toEqual({ TOO_MANY_REQUESTS: json.failed });
    expect(json.failed).toBeGreaterThan(0);
    expect(err).toContain("calls failed");
  });

  it.each(["jsonrpc", "grpc"])(
    "over %s takes failed tasks for errors, and fails if no call succeeds",
    async (transport) => {
      const { exit, out, err } = await world.run([
        ...["bench", "-a", "AGENT", "--transport", transport, "--requests", "5", "--warmup", "0", "reject no"],
      ]);
      expect(exit).toBe(1);
      expect(out).toContain("Calls: 0 in ");
      expect(out).toMatch(/^Errors: 5 \(TASK_REJECTED 5\)$/m);
      expect(err).toContain("Code: PARLEY_ERR_NO_SUCCESS");
    },
  );

  it("counts the wait of calls that were due at a rate", async () => {
    const argv = ["bench", "-a", "AGENT", "--rate", "200", "--callers", "1", "--requests", "20", "--warmup", "0"];
    const { json } = await world.run([...argv, "-o", "json", "wait 20"]);
    expect(json).toMatchObject({ calls: 20, rate: 200 });
    // One caller completes at most 50 calls a second, so the last call waits for most of the others.
    expect(json.latency.max).toBeGreaterThan(200);
    expect(json.latency.p50).toBeGreaterThan(100);
  });

  it("counts no call of the warm-up that ends late", async () => {
    const argv = ["bench", "-a", "AGENT", "--requests", "2", "--callers", "2", "--warmup", "0", "-o", "json"];
    const { json } = await world.run([...argv, "wait 1500"]);
    expect(json).toMatchObject({ calls: 2, failed: 0 });
  });

  it("compares with an earlier report", async () => {
    const earlier = {
      operation: "send",
      binding: "JSONRPC",
      callers: 9,
      rate: null,
      perSecond: 1,
      latency: { p50: 1, p99: 1 },
    };
    const { exit, out } = await world.run(
      ["bench", "-a", "AGENT", "--transport", "jsonrpc", "--requests", "5", "--warmup", "0", "--compare", "a.json"],
      { files: { "a.json": JSON.stringify(earlier) } },
    );
    expect(exit).toBe(0);
    expect(out).toMatch(/^Compared: calls\/s \+[\d.]+ %, p50 [+-][\d.]+ %, p99 [+-][\d.]+ % \(other callers\)$/m);
  });

  it("reports what it has measured when it is interrupted", async () => {
    const stop = new AbortController();
    const { exit, out, err } = await world.run(
      ["bench", "-a", "AGENT", "--warmup", "0", "--duration", "1h", "echo hi"],
      {
        interrupted: stop.signal,
        onOutput: (_, text) => text.includes("calls/s") && stop.abort("SIGINT"),
      },
    );
    expect(exit).toBe(130);
    expect(out).toMatch(/^Calls: [1-9]\d* in /m);
    expect(err).toContain("PARLEY_ERR_INTERRUPTED");
  });

  it.each([
    ["--callers", "0", "is not a whole number from 1 to 1000"],
    ["--callers", "1001", "is not a whole number from 1 to 1000"],
    ["--rate", "many", "is not a whole number"],
    ["--requests", "-1", "is not a whole number"],
    ["--duration", "0", "has to be more than 0"],
    ["--duration", "2h", "is longer than 1h"],
    ["--warmup", "soon", "is not a duration"],
    ["--operation", "cancel", "is not one of send, stream, get"],
    ["--compare", "nowhere.json", "nowhere.json"],
    ["--task-id", "t-1", "--operation get"],
  ])("sends nothing with %s %s", async (flag, value, told) => {
    const { exit, err } = await world.run(["bench", "-a", "AGENT", flag, value]);
    expect([exit, world.seen]).toEqual([2, []]);
    expect(err).toMatch(/^Error: /);
    expect(err).toContain(flag);
    expect(err).toContain(told);
  });

  it("asks for --yes before it loads another machine", async () => {
    const argv = ["bench", "-e", "https://agent.example/a2a", "--transport", "rest"];
    const { exit, err } = await runIn(argv);
    expect(exit).toBe(2);
    expect(err).toContain("agent.example is another machine");
    expect(err).toContain("--yes");
  });

  it.each([
    [
      "jsonrpc",
      'data: {"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}\n\n',
    ],
    ["rest", 'data: {"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}\n\n'],
  ])("over %s takes streams that end too early for errors", async (transport, event) => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(event);
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const { exit, json } = await runIn([
        ...["bench", "-e", `http://127.0.0.1:${port}`, "--transport", transport, "--operation", "stream"],
        ...["--requests", "3", "--warmup", "0", "-o", "jsonl"],
      ]);
      expect(exit).toBe(1);
      expect(json.error).toMatchObject({ code: "PARLEY_ERR_NO_SUCCESS", message: "No call succeeded: CUT_OFF." });
    } finally {
      server.close();
    }
  });
});
