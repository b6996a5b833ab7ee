import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  type GetTaskRequest,
  ListTasksResponseSchema,
  type SendMessageRequest,
  SendMessageResponseSchema,
  type TaskPushNotificationConfig,
  TaskSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { createRestBinding } from "../../../src/binding/rest/binding.js";
import { A2AError, taskNotFound } from "../../../src/core/error.js";
import { deferred, protocols, type Sent, type Served, type Setup, send, serve, start, until } from "./harness.js";

const rest = (setup: Setup = {}): Promise<Served> => serve(createRestBinding, setup);
const json = (value: unknown): Pick<Sent, "verb" | "body" | "headers"> => ({
  verb: "POST",
  body: JSON.stringify(value),
  headers: { "content-type": "application/a2a+json" },
});
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };

/** Returns the error of an answer. Checks the properties that all errors share. */
async function errorOf(served: Served, sent: Sent) {
  const { status, headers, text } = await send(served, sent);
  const { error } = JSON.parse(text);
  expect(error).toMatchObject({
    code: status,
    status: expect.stringMatching(/^[A-Z_]+$/),
    message: expect.any(String),
  });
  expect(error.details[0]["@type"]).toBe("type.googleapis.com/google.rpc.ErrorInfo");
  expect(headers["content-type"]).toBe("application/a2a+json");
  expect(served.broken).toEqual([]);
  return {
    status,
    headers,
    error,
    fields: (error.details[1]?.fieldViolations ?? []).map(({ field }: { field: string }) => field),
  };
}

describe.each(protocols)("createRestBinding() over %s", (protocol) => {
  it("takes a request from the body and answers with the protocol's media type", async () => {
    const served = await rest({
      protocol,
      invoke: () =>
        create(SendMessageResponseSchema, {
          payload: { case: "task", value: { id: "t", contextId: "c", status: { state: TaskState.SUBMITTED } } },
        }),
    });
    const { status, headers, text } = await send(served, { path: "/message:send", ...json({ message }) });
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/a2a+json");
    expect(Number(headers["content-length"])).toBe(Buffer.byteLength(text));
    expect(JSON.parse(text)).toEqual({ task: { id: "t", contextId: "c", status: { state: "TASK_STATE_SUBMITTED" } } });
    const { request, call } = served.calls[0] ?? {};
    expect((request as SendMessageRequest).message?.parts[0]?.content).toEqual({ case: "text", value: "hi" });
    expect(call).toMatchObject({ binding: "rest", impliedVersion: "1.0" });
    expect(call?.peer).toEqual({ address: "127.0.0.1", encrypted: false, port: expect.any(Number) });
  });

  it("takes a request from path and query", async () => {
    const served = await rest({ protocol });
    await send(served, { path: "/acme%20inc/tasks/t%2F1?historyLength=0&unknown=1" });
    expect(served.calls[0]?.request).toMatchObject({ tenant: "acme inc", id: "t/1", historyLength: 0 });
    await send(served, { verb: "DELETE", path: "/tasks/t/pushNotificationConfigs/c?tenant=x" });
    expect(served.calls[1]?.request).toMatchObject({ tenant: "x", taskId: "t", id: "c" });
  });

  it("tells a client of an earlier version which one is spoken here", async () => {
    const served = await rest({ protocol });
    const earlier: Parameters<typeof send>[1][] = [
      {
        path: "/v1/message:send",
        ...json({ message: { ...message, role: "user", parts: [{ kind: "text", text: "x" }] } }),
      },
      { path: "/v1/card" },
      { path: "/v1/tasks/t:cancel" },
      { path: "/v1/card", headers: { "a2a-version": "0.3" } },
    ];
    for (const sent of earlier) {
      const { text } = await send(served, sent);
      const { error } = JSON.parse(text) as { error: { message: string; details: { metadata?: object }[] } };
      expect(error.message).toContain("This server speaks A2A 1.0 (header A2A-Version: 1.0)");
      expect(error.details[0]?.metadata).toMatchObject({ supportedVersions: "1.0" });
    }
    const { status, fields } = await errorOf(served, earlier[0] as (typeof earlier)[0]);
    expect([status, fields]).toEqual([400, ["message.role"]]);
    const ours = [{ path: "/v1/card", headers: { "a2a-version": "1.0" } }, { path: "/v2/card" }, { path: "/v1" }];
    for (const sent of ours) expect((await send(served, sent)).text).not.toContain("earlier version");
    // "v1" is also a possible name of a tenant.
    expect((await send(served, { path: "/v1/tasks/t" })).status).toBe(200);
    expect(served.calls.at(-1)?.request).toMatchObject({ tenant: "v1", id: "t" });
  });

  it("joins path and body, and refuses what they say differently", async () => {
    const served = await rest({ protocol });
    await send(served, { path: "/acme/tasks/t/pushNotificationConfigs", ...json({ url: "https://x", taskId: "t" }) });
    expect(served.calls[0]?.request as TaskPushNotificationConfig).toMatchObject({
      tenant: "acme",
      taskId: "t",
      url: "https://x",
    });
    const body = json({ url: 5, taskId: "other", tenant: "other" });
    const { status, fields } = await errorOf(served, { path: "/acme/tasks/t/pushNotificationConfigs", ...body });
    expect([status, fields]).toEqual([400, ["url", "tenant", "taskId"]]);
    expect((await errorOf(served, { path: "/tasks/t?id=u" })).fields).toEqual(["id"]);
    expect((await send(served, { path: "/acme/tasks?tenant=acme" })).status).toBe(200);
  });

  it("needs no body where the path says everything", async () => {
    const served = await rest({ protocol });
    for (const sent of [{}, { headers: { "content-type": "application/json" } }, { body: "{}" }]) {
      expect((await send(served, { verb: "POST", path: "/tasks/t:cancel", ...sent })).status).toBe(200);
      expect((await send(served, { verb: "POST", path: "/tasks/t:subscribe", ...sent })).headers["content-type"]).toBe(
        "text/event-stream",
      );
    }
    expect(served.calls.map(({ request }) => (request as GetTaskRequest).id)).toEqual(Array(6).fill("t"));
  });

  it("answers empty messages and empty required lists", async () => {
    const served = await rest({ protocol, invoke: ({ method }) => create(method.output) });
    expect((await send(served, { verb: "DELETE", path: "/tasks/t/pushNotificationConfigs/c" })).text).toBe("{}");
    expect((await send(served, { path: "/tasks" })).text).toBe(
      '{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}',
    );
  });

  it("answers HEAD with the headers of GET alone", async () => {
    const served = await rest({ protocol, invoke: ({ method }) => create(method.output) });
    const { status, headers, text } = await send(served, { verb: "HEAD", path: "/tasks" });
    expect([status, headers["content-type"], text]).toEqual([200, "application/a2a+json", ""]);
    expect(served.calls).toHaveLength(1);
  });

  it("tells unknown paths from wrong verbs", async () => {
    const served = await rest({ protocol });
    expect(await errorOf(served, { path: "/nothing" })).toMatchObject({
      status: 404,
      error: { status: "NOT_FOUND" },
    });
    const { status, headers } = await errorOf(served, { path: "/tasks/t:subscribe", verb: "DELETE" });
    expect([status, headers.allow]).toEqual([405, "GET, POST"]);
    expect(
      (await errorOf(served, { path: "/message:send", verb: "PUT", body: "x".repeat(100_000) })).headers.allow,
    ).toBe("POST");
    expect(served.calls).toEqual([]);
  });

  it("refuses malformed requests", async () => {
    const served = await rest({ protocol });
    const path = "/message:send";
    for (const body of ["{", "nonsense", "[]", "5", Buffer.from([0x22, 0xff, 0x22])]) {
      expect((await errorOf(served, { verb: "POST", path, body })).status).toBe(400);
    }
    expect((await errorOf(served, { path: "/tasks/%ff" })).fields).toEqual(["id"]);
    expect((await errorOf(served, { path: "/tasks?pageSize=x&status=y" })).fields).toEqual(["pageSize", "status"]);
    const { fields, error } = await errorOf(served, {
      path,
      ...json({ message: { role: 1.5, parts: [{ text: 1 }] } }),
    });
    expect(fields).toEqual(["message.role", "message.parts[0].text"]);
    expect(error).toMatchObject({ status: "INVALID_ARGUMENT", details: [{ reason: "INVALID_PARAMS" }, {}] });
    expect(served.calls).toEqual([]);
  });

  it("takes both media types of JSON and refuses others", async () => {
    const served = await rest({ protocol });
    const status = async (type: string | undefined, more: Record<string, string> = {}) =>
      (
        await send(served, {
          verb: "POST",
          path: "/message:send",
          body: "{}",
          headers: { ...(type !== undefined && { "content-type": type }), ...more },
        })
      ).status;
    const good = [
      undefined,
      "application/json",
      "application/a2a+json",
      "Application/JSON; charset=UTF-8",
      'application/json;profile="x"; charset="utf-8"',
    ];
    for (const type of good) expect(await status(type)).toBe(200);
    for (const type of [
      "text/plain",
      "application/json; charset=latin1",
      "application/jsonx",
      "application/grpc",
      "",
    ]) {
      expect(await status(type)).toBe(415);
    }
    expect(await status("application/json", { "content-encoding": "gzip" })).toBe(415);
    expect(await status("application/json", { "content-encoding": "identity" })).toBe(200);
  });

  it("answers with plain JSON where the client prefers it", async () => {
    const served = await rest({ protocol });
    const { headers } = await send(served, { path: "/tasks", headers: { accept: "application/json" } });
    expect(headers["content-type"]).toBe("application/json");
    expect((await send(served, { path: "/x", headers: { accept: "application/json" } })).headers["content-type"]).toBe(
      "application/json",
    );
  });

  it("refuses bodies that are too large, before or while they are read", async () => {
    const served = await rest({ protocol, limits: { maxRequestBytes: 1_000 } });
    const sent = { verb: "POST", path: "/message:send", body: JSON.stringify({ tenant: "x".repeat(5_000) }) };
    expect(await errorOf(served, { ...sent, headers: { "content-length": `${sent.body.length}` } })).toMatchObject({
      status: 413,
      error: { status: "RESOURCE_EXHAUSTED" },
    });
    const chunked: Record<string, string> = protocol === "HTTP/2" ? {} : { "transfer-encoding": "chunked" };
    expect((await errorOf(served, { ...sent, headers: chunked })).status).toBe(413);
    expect((await errorOf(served, { ...sent, headers: chunked, body: sent.body.repeat(100) })).status).toBe(413);
    expect((await send(served, { ...sent, body: "{}" })).status).toBe(200);
  });

  it("writes errors with their details and headers", async () => {
    const errors: Record<string, A2AError> = {
      a: taskNotFound("a"),
      b: new A2AError("UNAUTHENTICATED", "Who?", { headers: { "WWW-Authenticate": 'Bearer realm="x"' } }),
      c: new A2AError("TOO_MANY_REQUESTS", "Later.", { retryAfterMs: 1_200 }),
      d: new A2AError("CANCELLED", "Gone."),
    };
    const served = await rest({
      protocol,
      invoke: ({ request, call }) => {
        call.responseHeaders.set("x-request-id", "r");
        throw errors[(request as GetTaskRequest).id];
      },
    });
    const a = await errorOf(served, { path: "/tasks/a" });
    expect(a).toMatchObject({
      status: 404,
      error: {
        status: "NOT_FOUND",
        details: [{ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org", metadata: { taskId: "a" } }],
      },
    });
    expect(a.headers["x-request-id"]).toBe("r");
    expect((await errorOf(served, { path: "/tasks/b" })).headers["www-authenticate"]).toBe('Bearer realm="x"');
    expect((await errorOf(served, { path: "/tasks/c" })).headers["retry-after"]).toBe("2");
    expect(await errorOf(served, { path: "/tasks/d" })).toMatchObject({ status: 499, error: { status: "CANCELLED" } });
    expect(served.lines).toEqual([]);
  });

  it("keeps what went wrong inside for the log", async () => {
    const secret = new Error("password is 1234");
    const served = await rest({
      protocol,
      invoke: ({ call, method }) => {
        call.requestId = "r-1";
        if (method.localName === "getTask") throw secret;
        return create(ListTasksResponseSchema, { pageSize: Number.NaN });
      },
    });
    for (const path of ["/tasks/t", "/tasks"]) {
      const { status, error } = await errorOf(served, { path });
      expect([status, error.message]).toEqual([500, "Internal error."]);
      expect(error.details).toMatchObject([{ reason: "INTERNAL" }, { requestId: "r-1" }]);
    }
    expect(served.lines).toMatchObject([
      { level: "error", facts: { binding: "rest", method: expect.any(String), requestId: "r-1", err: secret } },
      { level: "error", facts: { err: expect.any(TypeError) } },
    ]);
  });

  it("does not trust the service to answer what the descriptor says", async () => {
    const served = await rest({
      protocol,
      invoke: ({ method }) => (method.methodKind === "unary" ? (async function* () {})() : create(TaskSchema)),
    });
    expect((await errorOf(served, { path: "/tasks/t" })).status).toBe(500);
    expect((await errorOf(served, { path: "/tasks/t:subscribe" })).status).toBe(500);
  });

  it("sends the headers that interceptors set, but for what HTTP cannot carry", async () => {
    const served = await rest({
      protocol,
      invoke: ({ method, call }) => {
        call.responseHeaders
          .set("a2a-extensions", "urn:a,urn:b")
          .set("x-bad", "a\r\nb")
          .set("x bad", "c")
          .set("x-worse", "日本");
        return create(method.output);
      },
    });
    const { status, headers } = await send(served, { path: "/tasks/t" });
    expect([status, headers["a2a-extensions"]]).toEqual([200, "urn:a,urn:b"]);
    expect(Object.keys(headers).filter((name) => name.startsWith("x"))).toEqual(["x-request-id"]);
    expect(headers["cache-control"]).toBe("no-store");
  });

  it("shows headers to interceptors, repeated ones joined, and the version from the query where there is no header", async () => {
    const served = await rest({ protocol });
    await send(served, {
      path: "/tasks?a2a-version=0.3",
      headers: { "a2a-extensions": ["urn:a", "urn:b"], cookie: "x=1" },
    });
    const { call } = served.calls[0] ?? {};
    expect(call?.header("a2a-extensions")).toBe("urn:a, urn:b");
    expect(call?.header("a2a-version")).toBe("0.3");
    for (const name of ["x-none", "constructor", "__proto__", "toString"]) expect(call?.header(name)).toBeUndefined();
    await send(served, { path: "/tasks?A2A-Version=0.3", headers: { "A2A-Version": "" } });
    expect(served.calls[1]?.call.header("a2a-version")).toBe("");
    await send(served, { path: "/tasks" });
    expect(served.calls[2]?.call.header("a2a-version")).toBeUndefined();
  });

  it("tells the service when the client goes away before the answer, and only then", async () => {
    const [arrived, left] = [deferred(), deferred<unknown>()];
    const served = await rest({
      protocol,
      invoke: async ({ method, request, call }) => {
        if ((request as GetTaskRequest).id !== "slow") return create(method.output);
        arrived.resolve();
        await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
        left.resolve(undefined);
        throw new Error("nobody is there");
      },
    });
    await send(served, { path: "/tasks/fast" });
    const { leave } = start(served, { path: "/tasks/slow" });
    await arrived.promise;
    leave();
    await left.promise;
    await until(() => served.lines.length > 0);
    expect(served.lines.map(({ level }) => level)).toEqual(["debug"]);
    expect(served.calls[0]?.call.signal.aborted).toBe(false);
    expect(served.broken).toEqual([]);
  });
});
