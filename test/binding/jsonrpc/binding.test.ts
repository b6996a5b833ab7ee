import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  A2AService,
  type GetTaskRequest,
  ListTasksResponseSchema,
  TaskSchema,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { createJsonRpcBinding } from "../../../src/binding/jsonrpc/binding.js";
import { A2AError, invalid, type Reason, taskNotFound } from "../../../src/core/error.js";
import { deferred, protocols, type Sent, type Served, type Setup, send, serve, until } from "../rest/harness.js";

const rpc = (setup: Setup = {}): Promise<Served> => serve(createJsonRpcBinding, setup);
const post = (body: unknown, headers: Record<string, string> = {}): Sent => ({
  verb: "POST",
  path: "/",
  body: body instanceof Uint8Array || typeof body === "string" ? body : JSON.stringify(body),
  headers: { "content-type": "application/json", ...headers },
});
const call = (method: string, params?: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", method, params, id });
const notification = (method: string, params?: unknown) => ({ jsonrpc: "2.0", method, params });

/** Sends one request. Checks the properties that all answers share. */
async function ask(served: Served, sent: Sent) {
  const { status, headers, text } = await send(served, sent);
  expect(headers["content-type"]).toBe("application/json");
  expect(Number(headers["content-length"])).toBe(Buffer.byteLength(text));
  expect(served.broken).toEqual([]);
  const answer = JSON.parse(text);
  for (const each of Array.isArray(answer) ? answer : [answer]) {
    expect(each.jsonrpc).toBe("2.0");
    expect(each).toHaveProperty("id");
    expect(Object.hasOwn(each, "result")).not.toBe(Object.hasOwn(each, "error"));
    if (each.error) expect(each.error.data[0]["@type"]).toBe("type.googleapis.com/google.rpc.ErrorInfo");
  }
  return { status, headers, answer };
}

/** Id and error code of an answer. */
const faultOf = async (served: Served, sent: Sent): Promise<[unknown, number]> => {
  const { answer } = await ask(served, sent);
  return [answer.id, answer.error.code];
};

describe.each(protocols)("createJsonRpcBinding() over %s", (protocol) => {
  it("runs the method that is named like the rpc", async () => {
    const served = await rpc({
      protocol,
      invoke: () => create(TaskSchema, { id: "t", status: { state: TaskState.WORKING } }),
    });
    const { status, answer } = await ask(served, post(call("GetTask", { id: "t", historyLength: 0 }, "x-1")));
    expect(status).toBe(200);
    expect(answer).toEqual({ jsonrpc: "2.0", id: "x-1", result: { id: "t", status: { state: "TASK_STATE_WORKING" } } });
    expect(served.calls[0]).toMatchObject({
      request: { id: "t", historyLength: 0 },
      call: { binding: "jsonrpc", impliedVersion: "1.0", peer: { address: "127.0.0.1" } },
    });
  });

  it("serves every method of the service", async () => {
    const served = await rpc({ protocol });
    for (const { name, methodKind } of A2AService.methods) {
      const { status, headers } = await send(served, post(call(name, {})));
      expect([status, headers["content-type"]]).toEqual([
        200,
        methodKind === "unary" ? "application/json" : "text/event-stream",
      ]);
    }
    expect(served.calls.map(({ method }) => method)).toEqual(A2AService.methods);
  });

  it("repeats the id with its type", async () => {
    const served = await rpc({ protocol });
    for (const id of [0, -1, 1.5, 9007199254740991, "", "7", 'q"\n', null]) {
      expect((await ask(served, post(call("GetTask", {}, id)))).answer.id).toBe(id);
    }
  });

  it("takes missing and null params for empty ones, and refuses any that are no object", async () => {
    const served = await rpc({ protocol });
    for (const params of [undefined, null, {}]) {
      expect((await ask(served, post(call("GetExtendedAgentCard", params)))).answer).toHaveProperty("result");
    }
    for (const params of [[], [{}], 5, "x", true]) {
      expect(await faultOf(served, post(call("GetExtendedAgentCard", params)))).toEqual([1, -32602]);
    }
  });

  it.each([
    ["an answer of JSON", false],
    ["one event, where the option says so", true],
  ])("refuses a stream before it begins with %s", async (_how, streamErrorsAsEvents) => {
    const refuse = (): never => {
      throw taskNotFound("t");
    };
    const setup = { protocol, invoke: refuse };
    const served = await serve((options) => createJsonRpcBinding({ ...options, streamErrorsAsEvents }), setup);
    const refused = [
      [call("SubscribeToTask", { id: "t" }), -32001],
      [call("SendStreamingMessage", 5), -32602],
    ] as const;
    for (const [asked, code] of refused) {
      const { status, headers, text } = await send(served, post(asked));
      expect([status, headers["content-type"]]).toEqual([
        200,
        streamErrorsAsEvents ? "text/event-stream" : "application/json",
      ]);
      const json = streamErrorsAsEvents ? /^data: (.*)\n\n$/.exec(text)?.[1] : text;
      expect(JSON.parse(json ?? "")).toMatchObject({ id: 1, error: { code } });
    }
    // A unary call is answered as before.
    const { headers } = await send(served, post(call("GetTask", { id: "t" })));
    expect(headers["content-type"]).toBe("application/json");
  });

  it("names every violation", async () => {
    const served = await rpc({ protocol });
    const { status, answer } = await ask(served, post(call("SendMessage", { tenant: 1, message: { role: "user" } })));
    expect([status, answer.error.code]).toEqual([200, -32602]);
    expect(answer.error.message).toMatch(/^Invalid parameters: tenant: /);
    expect(answer.error.data).toMatchObject([
      { reason: "INVALID_PARAMS" },
      { fieldViolations: [{ field: "tenant" }, { field: "message.role" }] },
    ]);
  });

  it("tells broken JSON from JSON that is no request", async () => {
    const served = await rpc({ protocol });
    for (const body of ["", "{", "{]", Buffer.from([0x22, 0xc3, 0x22]), '{"a":1}x']) {
      expect(await faultOf(served, post(body))).toEqual([null, -32700]);
    }
    for (const body of [
      "5",
      "null",
      '"x"',
      "{}",
      '{"jsonrpc":"2.0","method":5}',
      '{"jsonrpc":"2.0","method":"GetTask","id":{}}',
    ]) {
      expect(await faultOf(served, post(body))).toEqual([null, -32600]);
    }
    expect(await faultOf(served, post({ jsonrpc: "1.0", method: "GetTask", id: 3 }))).toEqual([3, -32600]);
    expect(await faultOf(served, post(`\ufeff${JSON.stringify({ jsonrpc: "1.0", id: 3 })}`))).toEqual([3, -32600]);
  });

  it("does not know other methods, or says that their version is not served", async () => {
    const served = await rpc({ protocol });
    const { answer } = await ask(served, post(call("NoSuchMethod")));
    expect(answer.error).toMatchObject({
      code: -32601,
      message: "Method not found",
      data: [{ reason: "METHOD_NOT_FOUND" }],
    });
    for (const method of ["", "getTask", "message/unknown", "constructor", "__proto__"])
      expect(await faultOf(served, post(call(method)))).toEqual([1, -32601]);
    for (const version of ["0.3", "", "2.0", "x"]) {
      expect(await faultOf(served, post(call("message/send"), { "a2a-version": version }))).toEqual([1, -32009]);
    }
    expect(await faultOf(served, { ...post(call("message/send")), path: "/?A2A-Version=0.3" })).toEqual([1, -32009]);
    expect(await faultOf(served, post(call("message/send"), { "a2a-version": "1.0.2" }))).toEqual([1, -32601]);
  });

  it("tells a client of an earlier version which one is spoken here, and the method's name in it", async () => {
    const served = await rpc({ protocol });
    const { answer } = await ask(served, post(call("message/send")));
    expect(answer.error).toMatchObject({
      code: -32601,
      message:
        'Method not found: "message/send" belongs to an earlier version of A2A. ' +
        "This server speaks A2A 1.0 (header A2A-Version: 1.0), where the method is SendMessage.",
      data: [{ reason: "METHOD_NOT_FOUND", metadata: { supportedVersions: "1.0", method: "SendMessage" } }],
    });
    const later = await ask(served, post(call("tasks/resubscribe")));
    expect(JSON.stringify(later.answer.error)).toContain("the method is SubscribeToTask");
  });

  it("answers with POST alone", async () => {
    const served = await rpc({ protocol });
    for (const verb of ["GET", "PUT", "DELETE"]) expect(served.binding.match(verb, "/")).toBeUndefined();
    expect(["/", ""].map((path) => served.binding.match("POST", path))).toEqual([true, true]);
    expect(["/x", "//", "/tasks"].map((path) => served.binding.match("POST", path))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("refuses other media types and bodies that are too large", async () => {
    const served = await rpc({ protocol, limits: { maxRequestBytes: 500 } });
    for (const type of ["text/plain", "application/json; charset=utf-16"]) {
      const refused = await ask(served, post(call("GetTask"), { "content-type": type }));
      expect([refused.status, refused.answer.id, refused.answer.error.code]).toEqual([200, null, -32005]);
    }
    for (const type of ["application/a2a+json", "application/json; charset=utf-8"]) {
      expect((await ask(served, post(call("GetTask"), { "content-type": type }))).status).toBe(200);
    }
    const { status, answer } = await ask(served, post(call("GetTask", { id: "x".repeat(10_000) })));
    expect([status, answer.id, answer.error.data[0].reason]).toEqual([413, null, "REQUEST_TOO_LARGE"]);
  });

  it("uses HTTP status 200 but for what HTTP has to hear of", async () => {
    const errors: Record<string, A2AError> = {
      a: taskNotFound("t"),
      b: new A2AError("UNAUTHENTICATED", "Who?", { headers: { "www-authenticate": "Bearer" } }),
      c: new A2AError("PERMISSION_DENIED", "No."),
      d: new A2AError("TOO_MANY_REQUESTS", "Later.", { retryAfterMs: 3_000 }),
      e: invalid([{ field: "id", description: "no" }]),
    };
    const served = await rpc({
      protocol,
      invoke: ({ request, call }) => {
        call.responseHeaders.set("x-request-id", "r");
        throw errors[(request as GetTaskRequest).id];
      },
    });
    const seen: [number, number, Reason][] = [];
    for (const id of Object.keys(errors)) {
      const { status, headers, answer } = await ask(served, post(call("GetTask", { id })));
      expect(headers["x-request-id"]).toBe("r");
      seen.push([status, answer.error.code, answer.error.data[0].reason]);
      if (id === "b") expect(headers["www-authenticate"]).toBe("Bearer");
      if (id === "d") expect(headers["retry-after"]).toBe("3");
    }
    expect(seen).toEqual([
      [200, -32001, "TASK_NOT_FOUND"],
      [401, -32000, "UNAUTHENTICATED"],
      [403, -32000, "PERMISSION_DENIED"],
      [200, -32000, "TOO_MANY_REQUESTS"],
      [200, -32602, "INVALID_PARAMS"],
    ]);
  });

  it("keeps what went wrong inside for the log", async () => {
    const secret = new Error("password is 1234");
    const served = await rpc({
      protocol,
      invoke: ({ method }) => {
        if (method.localName === "getTask") throw secret;
        return create(ListTasksResponseSchema, { pageSize: Number.NaN });
      },
    });
    for (const name of ["GetTask", "ListTasks"]) {
      const { status, answer } = await ask(served, post(call(name)));
      expect([status, answer.error.code, answer.error.message]).toEqual([200, -32603, "Internal error."]);
    }
    expect(served.lines).toMatchObject([
      { level: "error", facts: { binding: "jsonrpc", method: "GetTask", err: secret } },
      { level: "error", facts: { err: expect.any(TypeError) } },
    ]);
  });

  it("answers notifications with nothing, before they are done, and logs their failures", async () => {
    const release = deferred();
    const served = await rpc({
      protocol,
      invoke: async ({ method, request, call }) => {
        await release.promise;
        expect(call.signal.aborted).toBe(false);
        if ((request as GetTaskRequest).id === "none") throw taskNotFound("none");
        return create(method.output);
      },
    });
    for (const body of [
      notification("GetTask", { id: "t" }),
      notification("GetTask", { id: "none" }),
      notification("GetTask", { id: 5 }),
      notification("Nothing"),
    ]) {
      const { status, headers, text } = await send(served, post(body));
      expect([status, headers["content-type"], text]).toEqual([204, undefined, ""]);
    }
    release.resolve();
    await until(() => served.lines.length === 2);
    expect(served.lines.map(({ level, facts }) => [level, facts.reason])).toEqual([
      ["warn", "INVALID_PARAMS"],
      ["warn", "TASK_NOT_FOUND"],
    ]);
    expect(await faultOf(served, post(notification("SubscribeToTask")))).toEqual([null, -32600]);
  });
});

describe.each(protocols)("a JSON-RPC batch over %s", (protocol) => {
  it("is run at once and answered in one array, without the notifications", async () => {
    const both = deferred();
    let running = 0;
    const served = await rpc({
      protocol,
      invoke: async ({ method, request, call }) => {
        const { id } = request as GetTaskRequest;
        call.responseHeaders.set("x-request-id", id);
        if (id === "none") throw taskNotFound(id);
        if (++running === 2) both.resolve();
        await both.promise;
        return create(method.output, { id } as never);
      },
    });
    const { status, headers, answer } = await ask(
      served,
      post([
        call("GetTask", { id: "a" }, 1),
        notification("GetTask", { id: "b" }),
        call("GetTask", { id: "none" }, "2"),
        5,
        call("Nothing", {}, null),
      ]),
    );
    expect([status, headers["x-request-id"]]).toEqual([200, "a"]);
    expect(answer.map(({ id, result, error }: never) => [id, result ?? (error as { code: number }).code])).toEqual([
      [1, { id: "a" }],
      ["2", -32001],
      [null, -32600],
      [null, -32601],
    ]);
  });

  it("may not be empty, too long, or stream", async () => {
    const served = await rpc({ protocol });
    expect(await faultOf(served, post([]))).toEqual([null, -32600]);
    expect(await faultOf(served, post(Array(101).fill(1)))).toEqual([null, -32600]);
    expect(served.calls).toEqual([]);
    const { answer } = await ask(
      served,
      post([call("SubscribeToTask", {}, 1), call("GetTask", {}, 2), notification("SubscribeToTask")]),
    );
    expect(answer.map(({ id, error }: { id: number; error?: { code: number } }) => [id, error?.code])).toEqual([
      [1, -32600],
      [2, undefined],
    ]);
  });

  it("has no answer when nobody waits for one", async () => {
    const served = await rpc({ protocol });
    const { status, text } = await send(
      served,
      post([notification("GetTask"), notification("Nothing"), notification("SubscribeToTask")]),
    );
    expect([status, text]).toEqual([204, ""]);
    expect(served.calls).toHaveLength(1);
  });

  it("has the HTTP status that all its members agree on", async () => {
    const served = await rpc({
      protocol,
      invoke: ({ request }) => {
        if ((request as GetTaskRequest).id === "open") return create(TaskSchema);
        throw new A2AError("UNAUTHENTICATED", "Who?", { headers: { "www-authenticate": "Bearer" } });
      },
    });
    const { status, headers } = await ask(served, post([call("GetTask"), call("GetTask")]));
    expect([status, headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    expect((await ask(served, post([call("GetTask"), call("GetTask", { id: "open" })]))).status).toBe(200);
  });
});
