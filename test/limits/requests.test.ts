import { gzipSync } from "node:zlib";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Limits } from "../../src/core/limits.js";
import { taskPage } from "../../src/engine/read/task-reader.js";
import { waitingTurns } from "../../src/engine/send/acceptance.js";
import { requestValues } from "../../src/http/body.js";
import { requestBounds } from "../../src/service/rules.js";
import { everyBinding, titleOf } from "../auth/world.js";
import { http2Client } from "../network/raw-http.js";
import { bytesOf, envelope } from "../network/requests.js";
import { type Served, serve } from "../network/serve.js";
import { setConstants, setConstantsOfFile } from "../support/constants.js";
import { as, expectLimit, gates, type LimitedWorld, leave, limited, newGate, say } from "./world.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const KIB = 1024;
setConstantsOfFile(requestValues, { max: 500 });
setConstantsOfFile(requestBounds, { maxIdLength: 64, maxReferences: 2, maxExtensions: 2 });
setConstantsOfFile(taskPage, { maxBytes: 2 * KIB });
const limits = {
  maxRequestBytes: 64 * KIB,
  maxMessageBytes: 8 * KIB,
  maxTaskBytes: 32 * KIB,
  maxParts: 3,
  maxBlockingMs: 50,
} satisfies Partial<Limits>;

const long = "x".repeat(65);
const values = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, i]));
const parts = (count: number): JsonObject[] => Array.from({ length: count }, () => ({ text: "echo" }));

/** A request that each limit refuses, with the reason, which is the same on every binding. */
const refused: readonly [
  limit: keyof typeof limits | keyof typeof requestBounds | "requestValues",
  rpc: string,
  request: JsonObject,
  reason: string,
][] = [
  ["maxRequestBytes", "SendMessage", say("x".repeat(80 * KIB)), "REQUEST_TOO_LARGE"],
  ["requestValues", "SendMessage", say("echo", { metadata: values }), "REQUEST_TOO_LARGE"],
  ["maxMessageBytes", "SendMessage", say("x".repeat(10 * KIB)), "REQUEST_TOO_LARGE"],
  ["maxIdLength", "SendMessage", say("echo", { contextId: long }), "INVALID_PARAMS"],
  ["maxIdLength", "GetTask", { id: long }, "INVALID_PARAMS"],
  ["maxParts", "SendMessage", say("echo", { parts: parts(4) }), "INVALID_PARAMS"],
  ["maxReferences", "SendMessage", say("echo", { referenceTaskIds: ["1", "2", "3"] }), "INVALID_PARAMS"],
];

describe.each(everyBinding.map((binding) => [titleOf(binding)] as const))("over %s", (title) => {
  let world: LimitedWorld;
  beforeAll(async () => {
    world = await limited(title, limits);
  });
  afterAll(() => world.close());

  it.each(refused)("%s of %s [SRV-SEC-04]", async (limit, rpc, request, reason) => {
    const { error } = await world.driver.call(rpc, request, as("alice"));
    expect({ limit, reason: error?.reason }).toEqual({ limit, reason });
  });

  it("maxExtensions [SRV-SEC-04]", async () => {
    const headers = { ...as("alice").headers, "A2A-Extensions": "urn:a, urn:b, urn:c" };
    expect((await world.driver.call("ListTasks", {}, { headers })).error?.reason).toBe("INVALID_PARAMS");
  });

  it("maxWaitingTurns [SRV-SEC-04]", async () => {
    setConstants(waitingTurns, { max: 1 });
    const gate = newGate();
    const { message } = await world.driver.call("SendMessage", leave(`wait ${gate}`), as("alice"));
    await gates.reached(gate);
    const { id: taskId } = (message as { task: { id: string } }).task;
    expect((await world.driver.call("SendMessage", leave("echo", { taskId }), as("alice"))).error).toBeUndefined();
    expectLimit(
      world.driver,
      await world.driver.call("SendMessage", leave("echo", { taskId }), as("alice")),
      "maxWaitingTurns",
    );
    gates.open(gate);
  });

  it("maxBlockingMs [SRV-SEC-04]", async () => {
    const gate = newGate();
    const { error } = await world.driver.call("SendMessage", say(`wait ${gate}`), as("alice"));
    expect(error?.reason).toBe("DEADLINE_EXCEEDED");
    gates.open(gate);
  });

  it("maxPageBytes [SRV-SEC-04]", async () => {
    for (let i = 0; i < 5; i++) await world.driver.call("SendMessage", say(`echo ${"x".repeat(KIB)}`), as("carol"));
    const { message } = await world.driver.call("ListTasks", {}, as("carol"));
    const { tasks, totalSize, nextPageToken } = message as {
      tasks: object[];
      totalSize: number;
      nextPageToken: string;
    };
    expect(totalSize).toBe(5);
    expect(tasks.length).toBeLessThan(5);
    expect(nextPageToken).not.toBe("");
  });
});

describe("a request that is too large when it is decompressed", () => {
  const path = `/${A2AService.typeName}/SendMessage`;
  const plain = bytesOf({ rpc: "SendMessage", request: say("x".repeat(80 * KIB)) });
  const call = { path, headers: { "content-type": "application/grpc", "grpc-encoding": "gzip", te: "trailers" } };
  let served: Served;
  beforeEach(async () => {
    served = await serve({ limits });
  });

  it("is refused over Connect like any other [SRV-SEC-04]", async () => {
    for (const [type, body] of [
      ["application/json", JSON.stringify(say("x".repeat(80 * KIB)))],
      ["application/proto", plain],
    ] as const) {
      const answer = await fetch(`${served.url}${path}`, {
        method: "POST",
        headers: { "content-type": type, "content-encoding": "gzip" },
        body: gzipSync(body),
      });
      const { code, details } = (await answer.json()) as { code: string; details: { value: string }[] };
      expect(code).toBe("resource_exhausted");
      expect(Buffer.from(details[0]?.value ?? "", "base64").toString("latin1")).toContain("maxRequestBytes");
    }
  });

  it.each(["port", "grpcPort"] as const)("is refused over gRPC on the %s [SRV-SEC-04]", async (port) => {
    const answer = await http2Client(served[port])({ ...call, body: envelope(gzipSync(plain), 1) });
    const { "grpc-status": status, "grpc-status-details-bin": details } = answer.headers;
    expect(status).toBe("8");
    expect(Buffer.from(String(details), "base64").toString("latin1")).toContain("maxRequestBytes");
  });
});
