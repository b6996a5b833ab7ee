import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { A2AService, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed } from "../../src/agent/event.js";
import { A2AError } from "../../src/core/error.js";
import { type A2A, createA2A } from "../../src/server/create-a2a.js";
import { interceptors } from "../../src/service/interceptors/bound-interceptors.js";
import type { ServiceInterceptor } from "../../src/service/invoke.js";
import { outgoingWait } from "../../src/service/outgoing-budget.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { setConstants } from "../support/constants.js";

const agent: Agent = {
  card: { name: "Large", description: "Answers with much.", version: "1.0.0" },
  async *execute() {
    yield artifact({ text: "x".repeat(300_000) });
    yield completed();
  },
};

const opened: A2A[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((a2a) => a2a.close({ graceMs: 0 })));
});

/** Room for two large answers of a caller. */
function serve(...chained: ServiceInterceptor[]): A2A {
  setConstants(outgoingWait, { timeoutMs: 50 });
  const limits = { maxOutgoingBytesPerCaller: 700_000 };
  const a2a = createA2A({ agent, store: memoryStore(), interceptors: chained, limits });
  opened.push(a2a);
  return a2a;
}

const at = (path: string): string => `http://localhost${path}`;

async function made(a2a: A2A, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const message = { messageId: `${i}`, role: "ROLE_USER", parts: [{ text: "go" }] };
    const headers = { "content-type": "application/json" };
    const response = await a2a.fetch(
      new Request(at("/message:send"), { method: "POST", headers, body: JSON.stringify({ message }) }),
    );
    ids.push(((await response.json()) as { task: { id: string } }).task.id);
  }
  return ids;
}

async function statuses(a2a: A2A, ids: readonly string[], odd = false): Promise<number[]> {
  const found: number[] = [];
  for (const id of ids) {
    const response = await a2a.fetch(new Request(at(`/tasks/${id}`), { headers: odd ? { "x-odd": "1" } : {} }));
    await response.arrayBuffer();
    found.push(response.status);
  }
  return found;
}

const isOdd = ({ call, method }: Parameters<Parameters<ServiceInterceptor>[0]>[0]): boolean =>
  method === A2AService.method.getTask && call.header("x-odd") !== undefined;

/** Things an interceptor may do with a large answer, and the resulting status. */
const ways: [name: string, interceptor: ServiceInterceptor, status: number][] = [
  [
    "asked for twice",
    (next) => async (invocation) => {
      if (isOdd(invocation)) await next(invocation);
      return next(invocation);
    },
    200,
  ],
  [
    "that it throws away with an error",
    (next) => async (invocation) => {
      const answer = await next(invocation);
      if (isOdd(invocation)) throw new A2AError("PERMISSION_DENIED", "Not this one.");
      return answer;
    },
    403,
  ],
  [
    "that it replaces by a small one",
    (next) => async (invocation) => {
      const answer = await next(invocation);
      return isOdd(invocation) ? { ...answer, $typeName: "lf.a2a.v1.Task", artifacts: [] } : answer;
    },
    200,
  ],
];

describe("a large answer that is not written", () => {
  it.each(ways)("keeps no room of its caller: one %s", async (_name, interceptor, status) => {
    const a2a = serve(interceptor);
    const ids = await made(a2a, 4);
    expect(await statuses(a2a, ids, true)).toEqual(ids.map(() => status));
    expect(await statuses(a2a, ids)).toEqual(ids.map(() => 200));
  });

  const calls: [name: string, (id: string, signal: AbortSignal) => Request][] = [
    ["REST", (id, signal) => new Request(at(`/tasks/${id}`), { headers: { "x-odd": "1" }, signal })],
    ["JSON-RPC", (id, signal) => post("/", { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id } }, signal)],
    ["Connect", (id, signal) => post(rpcPath, { id }, signal)],
    ["Connect with a deadline", (id, signal) => post(rpcPath, { id }, signal, { "connect-timeout-ms": "60000" })],
  ];

  it.each(calls)("keeps none when its client leaves before it is there, over %s", async (_name, request) => {
    let begun = (): void => {};
    let proceed = (): void => {};
    const a2a = serve((next) => async (invocation) => {
      const answer = await next(invocation);
      if (isOdd(invocation)) {
        begun();
        await new Promise<void>((resolve) => {
          proceed = resolve;
        });
      }
      return answer;
    });
    const ids = await made(a2a, 4);
    for (const id of ids) {
      const leaving = new AbortController();
      const isBegun = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const answered = a2a.fetch(request(id, leaving.signal)).then((response) => response.arrayBuffer());
      await Promise.race([isBegun, answered]);
      leaving.abort();
      proceed();
      await answered.catch(() => {});
    }
    expect(await statuses(a2a, ids)).toEqual(ids.map(() => 200));
  });
});

describe("a call that an interceptor passes on twice at once", () => {
  it("is passed on once, and its large answer keeps its room until it is written", async () => {
    const errors: unknown[] = [];
    const a2a = serve((next) => async (invocation) => {
      const first = next(invocation);
      if (isOdd(invocation)) await next(invocation).catch((error) => errors.push(error));
      return first;
    });
    const ids = await made(a2a, 4);
    expect(await statuses(a2a, ids, true)).toEqual(ids.map(() => 200));
    expect(errors).toEqual(ids.map(() => expect.objectContaining({ message: expect.stringContaining("again") })));
    const unread = await Promise.all(ids.slice(0, 2).map((id) => a2a.fetch(oddRequest(id))));
    expect(unread.map(({ status }) => status)).toEqual([200, 200]);
    // Both have room until they are read, so a third has none.
    expect(await statuses(a2a, ids.slice(2, 3))).toEqual([429]);
    await Promise.all(unread.map((response) => response.arrayBuffer()));
    expect(await statuses(a2a, ids)).toEqual(ids.map(() => 200));
  });
});

describe("a call that its interceptors pass on once it is over", () => {
  /** Interceptors that pass odd calls on when the test lets them, and what came of it. */
  class Late {
    readonly outcomes: string[] = [];
    #begun = (): void => {};
    #proceed = (): void => {};
    #passedOn = (): void => {};

    readonly interceptor: ServiceInterceptor = (next) => async (invocation) => {
      if (invocation.call.header("x-odd") === undefined) return next(invocation);
      this.#begun();
      await new Promise<void>((resolve) => {
        this.#proceed = resolve;
      });
      try {
        const answer = await next(invocation);
        this.outcomes.push("passed on");
        return answer;
      } catch (error) {
        this.outcomes.push((error as A2AError).reason);
        throw error;
      } finally {
        this.#passedOn();
      }
    };

    /** Resolves once the next odd call has come. */
    begun(): Promise<void> {
      return new Promise((resolve) => {
        this.#begun = resolve;
      });
    }

    /** Passes the call on, and waits for what comes of it. */
    proceed(): Promise<void> {
      return new Promise((resolve) => {
        this.#passedOn = resolve;
        this.#proceed();
      });
    }
  }

  it("is refused, and keeps no room, when its client has left", async () => {
    const late = new Late();
    const a2a = serve(late.interceptor);
    const ids = await made(a2a, 4);
    for (const id of ids) {
      const leaving = new AbortController();
      const isBegun = late.begun();
      const answered = a2a.fetch(oddRequest(id, leaving.signal)).then((response) => response.arrayBuffer());
      await isBegun;
      leaving.abort();
      await answered.catch(() => {});
      await late.proceed();
    }
    expect(late.outcomes).toEqual(ids.map(() => "CANCELLED"));
    expect(await statuses(a2a, ids)).toEqual(ids.map(() => 200));
  });

  it("sends nothing after its caller was told that it was too late", async () => {
    setConstants(interceptors, { timeoutMs: 20 });
    const late = new Late();
    const a2a = serve(late.interceptor);
    const message = { messageId: "late", role: "ROLE_USER", parts: [{ text: "go" }] };
    const { signal } = new AbortController();
    expect((await a2a.fetch(post("/message:send", { message }, signal))).status).toBe(503);
    await late.proceed();
    expect(late.outcomes).toEqual(["UNAVAILABLE"]);
    const list = await a2a.fetch(new Request(at("/tasks")));
    expect(await list.json()).toMatchObject({ totalSize: 0 });
  });

  it("keeps no room when another interceptor has answered in its place", async () => {
    const late = new Late();
    const impatient: ServiceInterceptor = (next) => async (invocation) => {
      const answer = next(invocation);
      return isOdd(invocation) ? create(TaskSchema) : answer;
    };
    const a2a = serve(impatient, late.interceptor);
    const ids = await made(a2a, 4);
    for (const id of ids) {
      expect((await a2a.fetch(oddRequest(id))).status).toBe(200);
      await late.proceed();
    }
    expect(late.outcomes).toEqual(ids.map(() => "passed on"));
    expect(await statuses(a2a, ids)).toEqual(ids.map(() => 200));
  });
});

const oddRequest = (id: string, signal?: AbortSignal): Request =>
  new Request(at(`/tasks/${id}`), { headers: { "x-odd": "1" }, ...(signal && { signal }) });

const rpcPath = `/${A2AService.typeName}/${A2AService.method.getTask.name}`;

function post(path: string, body: object, signal: AbortSignal, more: Record<string, string> = {}): Request {
  const headers = { "content-type": "application/json", "x-odd": "1", ...more };
  return new Request(at(path), { method: "POST", headers, body: JSON.stringify(body), signal });
}
