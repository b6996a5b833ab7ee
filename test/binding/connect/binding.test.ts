import { create, fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { A2AService, ListTasksResponseSchema, TaskSchema, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, invalid } from "../../../src/core/error.js";
import type { Invocation } from "../../../src/service/invoke.js";
import { taskEvent, until } from "../grpc/support.js";
import { connectTransport, serve, wires } from "./support.js";

const task = create(TaskSchema, {
  id: "t-1",
  status: { state: TaskState.WORKING },
  metadata: { a: [1, null, { b: "ü" }] },
});
const numbers = (n: number): string[] => Array.from({ length: n }, (_, i) => `${i}`);

/** The error that a client receives. */
async function failure(promise: Promise<unknown>): Promise<ConnectError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ConnectError)) throw new Error("no ConnectError");
  return error;
}

async function idsOf(
  stream: AsyncIterable<{ payload: { case?: string | undefined; value?: unknown } }>,
): Promise<string[]> {
  const ids: string[] = [];
  for await (const { payload } of stream) ids.push((payload.value as { id: string }).id);
  return ids;
}

describe.each(wires)("%s", (_name, wire, transportTo) => {
  it("hands the method, the request and the call to invoke, and its answer back", async () => {
    const seen: Invocation[] = [];
    const served = await serve((invocation) => {
      seen.push(invocation);
      invocation.call.responseHeaders.set("a2a-extensions", "urn:a");
      invocation.call.responseHeaders.set("x-unprintable", "schön");
      return task;
    });
    const received: Headers[] = [];
    const client = createClient(A2AService, transportTo(served));
    const answer = await client.getTask(
      { id: "t-1", historyLength: 0 },
      { headers: { "A2A-Extensions": "urn:a", "A2A-Version": "" }, onHeader: (headers) => received.push(headers) },
    );
    expect(answer).toEqual(task);
    expect(seen[0]?.method).toBe(A2AService.method.getTask);
    expect(seen[0]?.request).toMatchObject({ $typeName: "lf.a2a.v1.GetTaskRequest", id: "t-1", historyLength: 0 });
    expect(seen[0]?.call).toMatchObject({ binding: wire.binding, impliedVersion: "1.0" });
    expect(seen[0]?.call.peer).toEqual({ address: "127.0.0.1", encrypted: false, port: expect.any(Number) });
    expect(seen[0]?.call.header("a2a-extensions")).toBe("urn:a");
    expect(seen[0]?.call.header("a2a-version")).toBe("");
    expect(seen[0]?.call.header("authorization")).toBeUndefined();
    expect(seen[0]?.call.header(":authority")).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(received[0]?.get("a2a-extensions")).toBe("urn:a");
    expect(received[0]?.has("x-unprintable")).toBe(false);
    await until(() => served.handled.length === 1);
  });

  it("delivers a stream in its order, behind its headers (SRV-STRM-09)", async () => {
    const served = await serve(async function* ({ call }) {
      call.responseHeaders.set("a2a-extensions", "urn:a");
      for (const id of numbers(300)) yield taskEvent(id);
    });
    const received: Headers[] = [];
    const client = createClient(A2AService, transportTo(served));
    const stream = client.subscribeToTask({ id: "t" }, { onHeader: (headers) => received.push(headers) });
    expect(await idsOf(stream)).toEqual(numbers(300));
    expect(received[0]?.get("a2a-extensions")).toBe("urn:a");
    await until(() => served.handled.length === 1);
  });

  it("sends errors with their code, text, details and headers (SRV-ERR-06)", async () => {
    const served = await serve(({ call }) => {
      call.responseHeaders.set("x-request-id", "r-1");
      throw new A2AError("UNAUTHENTICATED", "Who are you?", { headers: { "WWW-Authenticate": "Bearer" } });
    });
    const client = createClient(A2AService, transportTo(served));
    for (const call of [() => client.getTask({ id: "t" }), () => idsOf(client.subscribeToTask({ id: "t" }))]) {
      const error = await failure(call());
      expect(error.code).toBe(Code.Unauthenticated);
      expect(error.rawMessage).toBe("Who are you?");
      expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
        { reason: "UNAUTHENTICATED", domain: "a2a-protocol.org" },
      ]);
      expect(error.metadata.get("www-authenticate")).toBe("Bearer");
      expect(error.metadata.get("x-request-id")).toBe("r-1");
    }
    expect(served.lines).toEqual([]);
  });

  it("sends every violation of a request (SRV-ERR-10)", async () => {
    const violations = [
      { field: "id", description: "is no id" },
      { field: "historyLength", description: "is negative" },
    ];
    const served = await serve(() => {
      throw invalid(violations);
    });
    const error = await failure(createClient(A2AService, transportTo(served)).getTask({ id: "t" }));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.findDetails(BadRequestSchema)[0]?.fieldViolations).toMatchObject(violations);
    expect(error.details[0]).toMatchObject({ type: ErrorInfoSchema.typeName });
  });

  it("delivers what came before an error, then the error", async () => {
    const served = await serve(async function* () {
      yield* numbers(20).map(taskEvent);
      throw new A2AError("UNAVAILABLE", "Shutting down.");
    });
    const ids: string[] = [];
    const client = createClient(A2AService, transportTo(served));
    const error = await failure(
      (async () => {
        for await (const { payload } of client.subscribeToTask({ id: "t" }))
          ids.push((payload.value as { id: string }).id);
      })(),
    );
    expect(ids).toEqual(numbers(20));
    expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: "Shutting down." });
    expect(error.findDetails(ErrorInfoSchema)[0]?.reason).toBe("UNAVAILABLE");
  });

  it("hides what nobody foresaw, and logs it", async () => {
    const cause = new Error("password is hunter2");
    const served = await serve(() => {
      throw cause;
    });
    const client = createClient(A2AService, transportTo(served));
    for (const call of [() => client.getTask({ id: "t" }), () => idsOf(client.subscribeToTask({ id: "t" }))]) {
      const error = await failure(call());
      expect(error).toMatchObject({ code: Code.Internal, rawMessage: "Internal error." });
      expect(error.findDetails(ErrorInfoSchema)[0]?.reason).toBe("INTERNAL");
    }
    expect(served.lines).toMatchObject([
      { level: "error", facts: { err: cause, binding: wire.binding } },
      { level: "error", facts: { err: cause, binding: wire.binding } },
    ]);
  });

  it("refuses a request over the limit, without asking the service", async () => {
    let asked = 0;
    const served = await serve(
      () => {
        asked++;
        return task;
      },
      { maxRequestBytes: 1_000 },
    );
    const client = createClient(A2AService, transportTo(served));
    await client.getTask({ id: "x".repeat(900) });
    expect((await failure(client.getTask({ id: "x".repeat(1_100) }))).code).toBe(Code.ResourceExhausted);
    expect(asked).toBe(1);
  });

  it("ends at the deadline, also for a service that does not listen", async () => {
    const signals: AbortSignal[] = [];
    const left: string[] = [];
    const served = await serve(({ method, call }) => {
      signals.push(call.signal);
      if (method.methodKind === "unary") return new Promise(() => {});
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise(() => {}),
          return: async () => {
            left.push(method.name);
            return { done: true, value: undefined };
          },
        }),
      };
    });
    const client = createClient(A2AService, transportTo(served));
    const [request, options] = [{ id: "t" }, { timeoutMs: 100 }];
    expect((await failure(client.getTask(request, options))).code).toBe(Code.DeadlineExceeded);
    expect((await failure(idsOf(client.subscribeToTask(request, options)))).code).toBe(Code.DeadlineExceeded);
    await until(() => signals.every((signal) => signal.aborted));
    await until(() => left.length === 1);
    expect(served.lines.filter((line) => line.level !== "debug")).toEqual([]);
  });

  it("fires the signal and leaves the service's stream when the client cancels", async () => {
    const seen = { left: false, signal: undefined as AbortSignal | undefined };
    const served = await serve(async function* ({ call }) {
      seen.signal = call.signal;
      try {
        yield taskEvent("0");
        await new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(new Error("stopped"))));
      } finally {
        seen.left = true;
      }
    });
    const controller = new AbortController();
    const client = createClient(A2AService, transportTo(served));
    const error = await failure(
      (async () => {
        for await (const _ of client.subscribeToTask({ id: "t" }, { signal: controller.signal })) controller.abort();
      })(),
    );
    expect(error.code).toBe(Code.Canceled);
    await until(() => seen.left);
    expect(seen.signal?.aborted).toBe(true);
    await until(() => served.handled.length === 1);
    expect(served.lines.filter((line) => line.level !== "debug")).toEqual([]);
  });

  it("fires the signal when the client cancels a unary call", async () => {
    const signals: AbortSignal[] = [];
    const served = await serve(({ call }) => {
      signals.push(call.signal);
      return new Promise(() => {});
    });
    const controller = new AbortController();
    const client = createClient(A2AService, transportTo(served));
    const result = failure(client.getTask({ id: "t" }, { signal: controller.signal }));
    await until(() => signals.length === 1);
    controller.abort();
    expect((await result).code).toBe(Code.Canceled);
    await until(() => signals[0]?.aborted === true);
  });
});

describe("createConnectBinding()", () => {
  it("answers 'internal' for an answer that has no JSON form, and logs it", async () => {
    const served = await serve(() => create(ListTasksResponseSchema));
    const client = createClient(A2AService, connectTransport(served.h1, "1.1", false));
    expect((await failure(client.getTask({ id: "t" }))).code).toBe(Code.Internal);
    expect(served.lines).toMatchObject([{ level: "error", facts: { err: expect.any(Error) } }]);
  });

  it("refuses bytes that are no request with a well-formed error", async () => {
    const served = await serve(() => {
      throw new Error("not reached");
    });
    const response = await fetch(`${served.h1}/${A2AService.typeName}/${A2AService.method.getTask.name}`, {
      method: "POST",
      headers: { "content-type": "application/proto" },
      body: Uint8Array.of(0x0a, 0xff, 0x01),
    });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    expect(served.lines).toEqual([]);
  });

  it("takes part in a binary call without touching the message", async () => {
    const served = await serve(() => task);
    const response = await fetch(`${served.h1}/${A2AService.typeName}/${A2AService.method.getTask.name}`, {
      method: "POST",
      headers: { "content-type": "application/proto" },
      body: new Uint8Array(),
    });
    expect(fromBinary(TaskSchema, new Uint8Array(await response.arrayBuffer()))).toEqual(task);
  });
});
