import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type Artifact,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { clientError, neverArrived } from "../../../src/client/errors/errors.js";
import type { TransportSettings } from "../../../src/client/platform.js";
import { A2AError } from "../../../src/core/error.js";
import type { Server } from "../../../src/server/create-server.js";
import { generationOf } from "../../../src/wire/marks.js";
import { gates, obedient } from "../../conformance/agents.js";
import { type SetupName, setups } from "../../conformance/setups.js";
import { clientOf, type Rpc, serve, type Way, ways } from "./world.js";

const request = (text: string, more: { tenant?: string; taskId?: string } = {}): SendMessageRequest =>
  create(SendMessageRequestSchema, {
    tenant: more.tenant ?? "",
    message: {
      messageId: crypto.randomUUID(),
      role: Role.USER,
      taskId: more.taskId ?? "",
      parts: [{ content: { case: "text", value: text } }],
    },
  });

const textOf = ({ parts }: Pick<Artifact, "parts">): string =>
  parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");

/** Returns the error of a failed call. Checks its form. */
async function errorOf(call: Promise<unknown>): Promise<A2AError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(ConnectError);
  const error = clientError(thrown);
  expect(error).toBeInstanceOf(A2AError);
  return error;
}

async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const found: StreamResponse[] = [];
  for await (const each of stream) found.push(each);
  return found;
}

const servers = new Map<SetupName, Promise<Server>>();
const serverOf = (name: SetupName): Promise<Server> => {
  const known = servers.get(name) ?? serve((setups[name] as { agent?: never }).agent ?? obedient("x"), setups[name]);
  servers.set(name, known);
  return known;
};
afterAll(async () => {
  for (const server of servers.values()) await (await server).close({ graceMs: 0 });
});

describe.each(ways.map((way) => [way.name, way] as const))("%s", (_, way: Way) => {
  const opened: (() => Promise<void>)[] = [];
  const open = async (name: SetupName, more: Partial<TransportSettings> = {}): Promise<Rpc> => {
    const { rpc, platform } = clientOf(way, way.urlOf(await serverOf(name)), more);
    opened.push(() => platform.close());
    return rpc;
  };
  afterEach(async () => {
    for (const close of opened.splice(0)) await close();
  });
  let main: Server;
  beforeAll(async () => {
    main = await serverOf("main");
  });

  it("sends, reads, lists", async () => {
    const rpc = await open("main");
    const { payload } = await rpc.sendMessage(request("echo Grüße, 世界 🙂"));
    if (payload.case !== "task") throw new Error(`a ${payload.case}`);
    expect(payload.value.artifacts.map(textOf)).toEqual(["Grüße, 世界 🙂"]);
    expect(payload.value.status?.state).toBe(TaskState.COMPLETED);
    const read = await rpc.getTask({ id: payload.value.id, historyLength: 1 });
    expect(read).toEqual({ ...payload.value, history: read.history });
    expect(read.history).toHaveLength(1);
    const { tasks } = await rpc.listTasks({ contextId: read.contextId, pageSize: 5, includeArtifacts: true });
    expect(tasks.map(({ id }) => id)).toEqual([read.id]);
    const after = { seconds: 4_000_000_000n, nanos: 0 };
    expect((await rpc.listTasks({ contextId: read.contextId, statusTimestampAfter: after })).tasks).toEqual([]);
  });

  it("reads values of every kind", async () => {
    const rpc = await open("main");
    const { payload } = await rpc.sendMessage(request("data"));
    if (payload.case !== "task") throw new Error(`a ${payload.case}`);
    const [data, nothing] = payload.value.artifacts.map(({ parts }) => parts[0]?.content);
    expect(data?.case).toBe("data");
    expect(nothing).toMatchObject({ case: "data", value: { kind: { case: "nullValue" } } });
    const file = await rpc.sendMessage(request("file"));
    const raw = file.payload.case === "task" ? file.payload.value.artifacts[0]?.parts[0]?.content : undefined;
    expect(raw).toMatchObject({ case: "raw" });
    expect(raw?.value).toEqual(new Uint8Array([0xfb, 0xef, 0xff, 0x00]));
  });

  it("streams, and knows generations where the wire has them", async () => {
    const rpc = await open("main");
    const events = await all(rpc.sendStreamingMessage(request("stream 20")));
    expect(events[0]?.payload.case).toBe("task");
    const pieces = events.flatMap(({ payload }) =>
      payload.case === "artifactUpdate" && payload.value.artifact !== undefined ? [textOf(payload.value.artifact)] : [],
    );
    expect(pieces).toEqual(Array.from({ length: 20 }, (_, i) => `piece ${i + 1}`));
    const last = events.at(-1)?.payload;
    expect(last?.case === "statusUpdate" && last.value.status?.state).toBe(TaskState.COMPLETED);
    const generations = events.map(generationOf);
    if (!way.isJson) return;
    expect(generations.every((each) => each !== undefined)).toBe(true);
    expect([...generations].sort((a, b) => (a ?? 0) - (b ?? 0))).toEqual(generations);
  });

  it("subscribes and cancels", async () => {
    const rpc = await open("main");
    const gate = crypto.randomUUID();
    const stream = rpc.sendStreamingMessage(request(`wait ${gate}`))[Symbol.asyncIterator]();
    const first = (await stream.next()).value as StreamResponse;
    const id = first.payload.case === "task" ? first.payload.value.id : "";
    const seen: StreamResponse[] = [];
    for await (const event of rpc.subscribeToTask({ id })) {
      seen.push(event);
      if (seen.length === 1) expect((await rpc.cancelTask({ id })).status?.state).toBe(TaskState.CANCELED);
    }
    expect(seen[0]?.payload.case).toBe("task");
    const last = seen.at(-1)?.payload;
    expect(last?.case === "statusUpdate" && last.value.status?.state).toBe(TaskState.CANCELED);
    while (!(await stream.next()).done);
    gates.open(gate);
  });

  it("manages push configurations", async () => {
    const rpc = await open("pushing");
    const { payload } = await rpc.sendMessage(request("ask Which one?"));
    const taskId = payload.case === "task" ? payload.value.id : "";
    const made = await rpc.createTaskPushNotificationConfig({ taskId, id: "a:b/c", url: "http://127.0.0.1:9/hook" });
    expect(made).toMatchObject({ id: "a:b/c", taskId });
    expect(await rpc.getTaskPushNotificationConfig({ taskId, id: "a:b/c" })).toEqual(made);
    expect((await rpc.listTaskPushNotificationConfigs({ taskId })).configs).toEqual([made]);
    await rpc.deleteTaskPushNotificationConfig({ taskId, id: "a:b/c" });
    expect((await rpc.listTaskPushNotificationConfigs({ taskId })).configs).toEqual([]);
  });

  it("carries the tenant", async () => {
    const rpc = await open("tenants");
    const { payload } = await rpc.sendMessage(request("turn", { tenant: "süd" }));
    const task = payload.case === "task" ? payload.value : undefined;
    expect(JSON.stringify(task?.artifacts[0]?.parts[0]?.content.value)).toContain("süd");
    expect((await rpc.getTask({ tenant: "süd", id: task?.id ?? "" })).id).toBe(task?.id);
    expect((await errorOf(rpc.getTask({ tenant: "north", id: task?.id ?? "" }))).reason).toBe("TASK_NOT_FOUND");
  });

  it("brings errors with reason, metadata, violations, times and headers", async () => {
    const rpc = await open("main");
    const missing = await errorOf(rpc.getTask({ id: "nowhere" }));
    expect(missing).toMatchObject({ reason: "TASK_NOT_FOUND", metadata: { taskId: "nowhere" }, code: Code.NotFound });
    const bad = request("x");
    if (bad.message !== undefined) bad.message.parts = [];
    const invalid = await errorOf(rpc.sendMessage(bad));
    expect(invalid.reason).toBe("INVALID_PARAMS");
    expect(invalid.violations.map(({ field }) => field)).toEqual(["message.parts"]);
    const full = await errorOf((await open("picky")).sendMessage(request("refuse quota")));
    expect(full).toMatchObject({ reason: "TOO_MANY_REQUESTS", retryAfterMs: 2000, message: "The quota is used up." });
    const unknown = await errorOf((await open("owners")).sendMessage(request("x")));
    expect(unknown.reason).toBe("UNAUTHENTICATED");
    expect(unknown.headers.get("www-authenticate")).toBe('Bearer realm="tests"');
    const early = await errorOf(all(rpc.sendStreamingMessage(bad)));
    expect(early).toMatchObject({ reason: "INVALID_PARAMS", violations: [{ field: "message.parts" }] });
    expect((await errorOf(all(rpc.subscribeToTask({ id: "nowhere" })))).reason).toBe("TASK_NOT_FOUND");
  });

  it("runs interceptors, which see and change requests and answers", async () => {
    const seen: string[] = [];
    const rpc = await open("main", {
      interceptors: [
        (next) => async (call) => {
          seen.push(call.method.name);
          call.header.set("A2A-Extensions", "urn:example:ext:may:v1");
          if (!call.stream) {
            const message = create(call.method.input, { ...call.message, ...request("say changed") });
            const answer = await next({ ...call, message });
            seen.push(answer.header.get("a2a-extensions") ?? "none");
            return answer;
          }
          return await next(call);
        },
      ],
    });
    let given: Headers | undefined;
    const { payload } = await rpc.sendMessage(request("say asked"), { onHeader: (header) => (given = header) });
    expect(payload.case === "task" && textOf(payload.value.status?.message ?? { parts: [] })).toBe("changed");
    expect(seen).toEqual(["SendMessage", "urn:example:ext:may:v1"]);
    expect(given?.get("a2a-extensions")).toBe("urn:example:ext:may:v1");
    await all(rpc.sendStreamingMessage(request("say x"), { onHeader: (header) => (given = header) }));
    expect(given?.get("a2a-extensions")).toBe("urn:example:ext:may:v1");
  });

  it("gives interceptors a signal that ends with the call, and headers that they may change", async () => {
    const ended: unknown[] = [];
    const watch: Interceptor = (next) => (call) => {
      expect(call.signal).toBeInstanceOf(AbortSignal);
      call.signal.addEventListener("abort", () => ended.push(clientError(call.signal.reason).reason));
      expect(call.header.get("X-Given")).toBe("by the caller");
      call.header.set("X-Given", "by an interceptor");
      return next({ ...call });
    };
    const rpc = await open("main", { interceptors: [watch] });
    const gate = crypto.randomUUID();
    const headers = { "x-given": "by the caller" };
    await errorOf(rpc.sendMessage(request(`wait ${gate}`), { timeoutMs: 50, headers }));
    const stop = new AbortController();
    const waiting = errorOf(
      rpc.sendMessage(request(`wait ${gate}`), { signal: stop.signal, timeoutMs: 60_000, headers }),
    );
    setTimeout(() => stop.abort(new A2AError("CANCELLED", "enough")), 30);
    await waiting;
    expect(ended).toEqual(["DEADLINE_EXCEEDED", "CANCELLED"]);
    gates.open(gate);
  });

  it("shows interceptors the errors of Connect, and throws those that they throw", async () => {
    const seen: unknown[] = [];
    const own = new ConnectError("mine", Code.DataLoss);
    const watch: Interceptor = (next) => async (call) => {
      try {
        const response = await next(call);
        if (response.stream) for await (const _ of response.message);
        return response;
      } catch (error) {
        seen.push(error);
        throw own;
      }
    };
    const rpc = await open("main", { interceptors: [watch] });
    await expect(rpc.getTask({ id: "none" })).rejects.toBe(own);
    await expect(all(rpc.subscribeToTask({ id: "none" }))).rejects.toBe(own);
    expect(seen).toEqual([expect.any(ConnectError), expect.any(ConnectError)]);
    expect(seen.map((error) => clientError(error).reason)).toEqual(["TASK_NOT_FOUND", "TASK_NOT_FOUND"]);
  });

  it("refuses headers that are none, and sends those that are", async () => {
    const rpc = await open("main");
    await errorOf(rpc.getTask({ id: "x" }, { headers: { "no name": "x" } }));
    let given: Headers | undefined;
    const headers = new Headers({ "A2A-Extensions": "urn:example:ext:may:v1" });
    await rpc.sendMessage(request("say asked"), { headers, onHeader: (header) => (given = header) });
    expect(given?.get("a2a-extensions")).toBe("urn:example:ext:may:v1");
  });

  it("keeps to deadlines and stops when it is told to", async () => {
    const rpc = await open("main");
    const gate = crypto.randomUUID();
    const late = await errorOf(rpc.sendMessage(request(`wait ${gate}`), { timeoutMs: 50 }));
    expect(late.reason).toBe("DEADLINE_EXCEEDED");
    const lateStream = await errorOf(all(rpc.sendStreamingMessage(request(`wait ${gate}`), { timeoutMs: 200 })));
    expect(lateStream.reason).toBe("DEADLINE_EXCEEDED");
    const stop = new AbortController();
    const waiting = errorOf(rpc.sendMessage(request(`wait ${gate}`), { signal: stop.signal }));
    setTimeout(() => stop.abort(), 30);
    expect((await waiting).reason).toBe("CANCELLED");
    expect((await errorOf(rpc.getTask({ id: "x" }, { signal: AbortSignal.abort() }))).reason).toBe("CANCELLED");
    const leave = new AbortController();
    const reading = (async () => {
      for await (const { payload } of rpc.sendStreamingMessage(request(`wait ${gate}`), { signal: leave.signal }))
        if (payload.case === "statusUpdate") leave.abort();
    })();
    expect((await errorOf(reading)).reason).toBe("CANCELLED");
    gates.open(gate);
  });

  it("takes no answer that is larger than it is allowed to be", async () => {
    const rpc = await open("main", { maxAnswerBytes: 2_000 });
    const long = request(`echo ${"x".repeat(4_000)}`);
    expect((await errorOf(rpc.sendMessage(long))).reason).toBe("INVALID_AGENT_RESPONSE");
    expect((await errorOf(all(rpc.sendStreamingMessage(long)))).reason).toBe("INVALID_AGENT_RESPONSE");
    await rpc.getTask({ id: "nowhere" }).catch((error) => expect(clientError(error).reason).toBe("TASK_NOT_FOUND"));
  });

  it("says when nobody is there, and when it is closed", async () => {
    const { rpc, platform } = clientOf(way, "http://127.0.0.1:9");
    const nobody = await errorOf(rpc.getTask({ id: "x" }));
    expect(nobody.reason).toBe("UNAVAILABLE");
    expect(neverArrived(nobody)).toBe(way.name.startsWith("Node.js") || neverArrived(nobody));
    await platform.close();
    const closed = clientOf(way, way.urlOf(main));
    await closed.platform.close();
    expect((await errorOf(closed.rpc.getTask({ id: "x" }))).reason).toBe("UNAVAILABLE");
  });
});
