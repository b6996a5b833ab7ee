import { create, fromBinary } from "@bufbuild/protobuf";
import { Metadata, status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { TaskSchema, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { createGrpcBinding } from "../../../src/binding/grpc/embedded/binding.js";
import type { Peer } from "../../../src/core/call.js";
import { A2AError, invalid, taskNotFound } from "../../../src/core/error.js";
import { defaultLimits } from "../../../src/core/limits.js";
import { silentLogger } from "../../../src/core/log.js";
import type { Invocation } from "../../../src/service/invoke.js";
import {
  callStream,
  callUnary,
  detailsOf,
  drainStream,
  requestFor,
  servers,
  taskEvent,
  unary,
  until,
} from "./support.js";
import { uploadService } from "./upload-service.js";

const task = create(TaskSchema, { id: "t-1", status: { state: TaskState.WORKING } });

describe.each(servers)("the gRPC binding on %s", (_name, serve) => {
  it("hands the method, the request and the call to invoke, and its answer back", async () => {
    const seen: Invocation[] = [];
    const peers: Peer[] = [];
    const { client } = await serve((invocation) => {
      seen.push(invocation);
      // Read while the call is open, because a closed connection has no address.
      peers.push(invocation.call.peer);
      return task;
    });
    const { error, value } = await callUnary(client, requestFor("t-1"));
    expect(error).toBeNull();
    expect(fromBinary(TaskSchema, value ?? new Uint8Array())).toEqual(task);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.method).toBe(unary);
    expect(seen[0]?.request).toMatchObject({ $typeName: unary.input.typeName, id: "t-1" });
    expect(seen[0]?.call).toMatchObject({ binding: "grpc", impliedVersion: "1.0" });
    expect(peers).toEqual([{ address: "127.0.0.1", encrypted: false, port: expect.any(Number) }]);
  });

  it("reads headers from metadata, telling absent from empty (SRV-GRPC-03)", async () => {
    let call: Invocation["call"] | undefined;
    const { client, port } = await serve((invocation) => {
      call = invocation.call;
      return task;
    });
    const metadata = new Metadata();
    metadata.add("A2A-Extensions", "urn:a");
    metadata.add("A2A-Extensions", "urn:b");
    metadata.set("a2a-version", "");
    metadata.set("secret-bin", Buffer.from("x"));
    await callUnary(client, requestFor("t-1"), { metadata });
    expect(call?.header("a2a-extensions")).toBe("urn:a, urn:b");
    expect(call?.header("a2a-version")).toBe("");
    expect(call?.header("authorization")).toBeUndefined();
    expect(call?.header("secret-bin")).toBeUndefined();
    expect(call?.header(":authority")).toBe(`127.0.0.1:${port}`);
  });

  it("sends the response's headers before a unary answer, a stream and an error", async () => {
    const { client } = await serve(({ method, request, call }) => {
      call.responseHeaders.set("a2a-extensions", "urn:a");
      call.responseHeaders.set("x-unprintable", "schön");
      if ("id" in request && request.id === "none") throw taskNotFound("none");
      if (method.methodKind === "unary") return task;
      return (async function* () {
        yield taskEvent("0");
      })();
    });
    for (const id of ["t-1", "none"]) {
      const { headers } = await callUnary(client, requestFor(id));
      expect(headers.get("a2a-extensions")).toEqual(["urn:a"]);
      expect(headers.get("x-unprintable")).toEqual([]);
    }
    const stream = callStream(client);
    const headers = new Promise<Metadata>((resolve) => stream.once("metadata", resolve));
    await drainStream(stream);
    expect((await headers).get("a2a-extensions")).toEqual(["urn:a"]);
  });

  it("sends errors with their code, text, details and headers (SRV-GRPC-04, SRV-GRPC-05)", async () => {
    const { client, lines } = await serve(({ request }) => {
      if ("id" in request && request.id === "bad") throw invalid([{ field: "id", description: "is no id" }]);
      throw new A2AError("UNAUTHENTICATED", "Who are you? Grüße", { headers: { "WWW-Authenticate": "Bearer" } });
    });
    const refused = (await callUnary(client, requestFor("t-1"))).error;
    expect(refused).toMatchObject({ code: status.UNAUTHENTICATED, details: "Who are you? Grüße" });
    expect(refused?.metadata.get("www-authenticate")).toEqual(["Bearer"]);
    expect(detailsOf(refused)).toMatchObject({
      code: status.UNAUTHENTICATED,
      message: "Who are you? Grüße",
      types: ["type.googleapis.com/google.rpc.ErrorInfo"],
      info: { reason: "UNAUTHENTICATED", domain: "a2a-protocol.org" },
    });
    const bad = (await callUnary(client, requestFor("bad"))).error;
    expect(bad?.code).toBe(status.INVALID_ARGUMENT);
    expect(detailsOf(bad)).toMatchObject({
      types: ["type.googleapis.com/google.rpc.ErrorInfo", "type.googleapis.com/google.rpc.BadRequest"],
      bad: { fieldViolations: [{ field: "id", description: "is no id" }] },
    });
    expect(lines).toEqual([]);
  });

  it("hides what nobody foresaw, and logs it", async () => {
    const cause = new Error("password is hunter2");
    const { client, lines } = await serve(() => {
      throw cause;
    });
    const { error } = await callUnary(client, requestFor("t-1"));
    expect(error).toMatchObject({ code: status.INTERNAL, details: "Internal error." });
    expect(detailsOf(error).info).toMatchObject({ reason: "INTERNAL" });
    expect(JSON.stringify(error?.metadata.toJSON())).not.toContain("hunter2");
    expect(lines).toMatchObject([{ level: "error", facts: { err: cause, binding: "grpc", method: unary.name } }]);
  });

  it("answers and logs an answer that cannot be encoded", async () => {
    const { client, lines } = await serve(({ method }) => {
      if (method.methodKind === "unary") return taskEvent("wrong type");
      return task;
    });
    expect((await callUnary(client, requestFor("t-1"))).error).toMatchObject({ code: status.INTERNAL });
    expect((await drainStream(callStream(client))).error).toMatchObject({ code: status.INTERNAL });
    expect(lines.map((line) => line.level)).toEqual(["error", "error"]);
  });

  it("refuses bytes that are no request, without asking the service", async () => {
    const { client, lines } = await serve(() => {
      throw new Error("not reached");
    });
    const { error } = await callUnary(client, Buffer.from([0x0a, 0xff, 0x01]));
    expect(error?.code).toBe(status.INVALID_ARGUMENT);
    expect(detailsOf(error)).toMatchObject({ info: { reason: "INVALID_PARAMS" } });
    expect(error?.details).not.toMatch(/varint|eof|offset/i);
    expect(lines).toEqual([]);
  });

  it("refuses a request over the limit, without asking the service", async () => {
    let asked = 0;
    const limits = { ...defaultLimits, maxRequestBytes: 1_000 };
    const { client } = await serve(
      () => {
        asked++;
        return task;
      },
      { limits },
    );
    expect((await callUnary(client, requestFor("x".repeat(900)))).error).toBeNull();
    expect((await callUnary(client, requestFor("x".repeat(1_100)))).error?.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(asked).toBe(1);
  });

  it("fires the signal when the client cancels", async () => {
    let signal: AbortSignal | undefined;
    const { client, lines } = await serve(async ({ call }) => {
      signal = call.signal;
      await new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(new Error("stopped"))));
      return task;
    });
    const call: { cancel?(): void } = {};
    const result = callUnary(client, requestFor("t-1"), {
      started: (started) => Object.assign(call, { cancel: () => started.cancel() }),
    });
    await until(() => signal !== undefined);
    call.cancel?.();
    expect((await result).error?.code).toBe(status.CANCELLED);
    await until(() => signal?.aborted === true);
    expect(signal?.reason).toMatchObject({ reason: "CANCELLED" });
    await until(() => lines.length > 0);
    expect(lines.map((line) => line.level)).toEqual(["debug"]);
  });

  it("fires the signal when the deadline passes, also for a service that does not listen", async () => {
    let signal: AbortSignal | undefined;
    const { client } = await serve(({ call }) => {
      signal = call.signal;
      return new Promise(() => {});
    });
    const { error } = await callUnary(client, requestFor("t-1"), { deadline: Date.now() + 1_000 });
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED);
    await until(() => signal?.aborted === true);
    expect(signal?.reason).toMatchObject({ reason: "DEADLINE_EXCEEDED" });
  });

  it("leaves the signal alone when a call was answered", async () => {
    const signals: AbortSignal[] = [];
    const { client } = await serve(({ method, call }) => {
      signals.push(call.signal);
      if (method.methodKind === "unary") return task;
      return (async function* () {
        yield taskEvent("0");
      })();
    });
    await callUnary(client, requestFor("t-1"));
    await drainStream(callStream(client));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false]);
  });
});

describe("createGrpcBinding()", () => {
  it("leaves out methods that take a stream of requests", async () => {
    const invoke = async () => task;
    const shared = { limits: defaultLimits, logger: silentLogger };
    const { definition, implementation } = createGrpcBinding({ ...shared, invoke, service: uploadService() });
    expect(Object.keys(definition)).toEqual(["Upload", "Fetch"]);
    expect(definition.Upload).toMatchObject({
      path: "/test.Files/Upload",
      requestStream: true,
      responseStream: false,
    });
    expect(Object.keys(implementation)).toEqual(["Fetch"]);
  });
});
