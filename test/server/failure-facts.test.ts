import { setTimeout } from "node:timers/promises";
import { Metadata } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Health } from "../../gen/grpc/health/v1/health_pb.js";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { createGrpcBinding } from "../../src/binding/grpc/embedded/binding.js";
import { GrpcExchange } from "../../src/binding/grpc/exchange.js";
import { defaultLimits } from "../../src/core/limits.js";
import { type ReadTask, TaskReader } from "../../src/engine/read/task-reader.js";
import { InboundBudget } from "../../src/http/inbound-budget.js";
import { NodeWriter } from "../../src/http/node/writer.js";
import { type AuditRecord, completed, createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { StoreError, type TaskStore } from "../../src/store/task-store.js";
import { TaskFold } from "../../src/task/fold.js";
import { bindings, type Caller } from "../admin/callers.js";
import { bearer, operators, tokens } from "../admin/world.js";

/** The lines of failures name the call that failed. */

interface Line {
  readonly message: string;
  readonly facts: Record<string, unknown>;
}

interface World {
  readonly server: Server;
  readonly store: TaskStore;
  readonly lines: Line[];
  readonly records: AuditRecord[];
  /** A task that has ended. */
  readonly taskId: string;
}

const traceId = "0af7651916cd43dd8448eb211c80319c";
const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, "x-request-id": "r-1" };
const ofRequest = { requestId: "r-1", traceId };
const method = A2AService.method;

function fail(): never {
  throw new Error("a fault");
}

const failing = async (): Promise<never> => fail();

function recorded(): { readonly lines: Line[]; readonly logger: Record<"debug" | "info" | "warn" | "error", Note> } {
  const lines: Line[] = [];
  const note: Note = (facts, message) => void lines.push({ message, facts: { ...facts } });
  return { lines, logger: { debug: note, info: note, warn: note, error: note } };
}

type Note = (facts: object, message: string) => void;

async function open(): Promise<World> {
  const { lines, logger } = recorded();
  const records: AuditRecord[] = [];
  const store = memoryStore();
  const server = await createServer({
    agent: {
      card: { name: "Failing", description: "-", version: "1", skills: [] },
      async *execute(turn) {
        await turn.referencedTasks();
        if (turn.text === "recall") await turn.conversation.messages();
        if (turn.text === "slowly") await setTimeout(50);
        yield completed("done");
      },
    },
    ...{ store, logger, port: 0, grpcPort: 0 },
    admin: { listen: "127.0.0.1:0", tokens: operators },
    audit: { write: (record) => void records.push(record) },
  });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const taskId = await post(server, {}, {});
  lines.length = 0;
  return { server, store, lines, records, taskId };
}

async function post({ url }: Server, given: object, more: Record<string, string> = headers): Promise<string> {
  const all = { "content-type": "application/json", "a2a-version": "1.0", ...more };
  const sent = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }], ...given };
  const body = JSON.stringify({ message: sent });
  const answer = await fetch(`${url}/message:send`, { method: "POST", headers: all, body });
  const { task } = (await answer.json()) as { task?: { id: string } };
  return task?.id ?? "";
}

type Call = (caller: Caller, world: World) => Promise<unknown>;

const over =
  (name: keyof typeof bindings, call: Call) =>
  async (world: World): Promise<void> => {
    const { server } = world;
    const address = name === "grpc" ? `127.0.0.1:${server.grpcPort}` : server.url.replace("http://", "");
    const caller = bindings[name](address);
    onTestFinished(() => caller.close());
    await call(caller, world);
  };

const ofOperator =
  (call: Call) =>
  async (world: World): Promise<void> => {
    const caller = bindings.grpc((world.server.adminUrl ?? "").replace("http://", ""));
    onTestFinished(() => caller.close());
    await call(caller, world);
  };

const asOperator = { ...headers, ...bearer(tokens.write) };
const get: Call = (caller, { taskId }) => caller.call(method.getTask, { id: taskId }, headers);
const message = { messageId: "m", role: 1, parts: [{ content: { case: "text", value: "slowly" } }] };
const stream: Call = (caller) => caller.call(method.sendStreamingMessage, { message }, headers);
const list: Call = (caller) => caller.call(method.listTasks, { includeArtifacts: true }, headers);

/** Damages the stored task. */
function damage({ store }: World): void {
  vi.spyOn(store, "load").mockImplementation(failing);
  vi.spyOn(store, "loadMany").mockImplementation(failing);
}

/** Lists the task, whose view fails. */
function unshowable({ taskId }: World): void {
  const fold = Object.defineProperty(new TaskFold(), "task", { get: fail });
  vi.spyOn(TaskReader.prototype, "read").mockImplementation(async (_request, use) => {
    use({ fold, head: { taskId } } as ReadTask);
    return { total: 1, next: undefined, following: undefined };
  });
}

interface Case {
  readonly line: string;
  readonly fault: (world: World) => void;
  readonly call: (world: World) => Promise<unknown>;
  readonly facts: (world: World) => object;
}

const agent = "Failing";
const ofTask = ({ taskId }: World): object => ({ ...ofRequest, taskId, agent });
const once = (target: object, name: string) => (): void => {
  vi.spyOn(target as Record<string, () => unknown>, name).mockImplementationOnce(fail);
};
const refuse = ({ store }: World): void => {
  vi.spyOn(store, "load").mockRejectedValue(new StoreError("conflict", "a fault"));
};

const cases: Record<string, Case> = {
  "a call of gRPC that does not begin": {
    line: "a call of gRPC could not be begun",
    fault: once(InboundBudget.prototype, "begin"),
    call: over("grpc", get),
    facts: () => ofRequest,
  },
  "a call of gRPC without an answer": {
    line: "a call of gRPC could not be answered",
    fault: once(GrpcExchange.prototype, "fail"),
    call: over("grpc", (caller) => caller.call(method.getTask, { id: "no-such-task" }, headers)),
    facts: () => ({ ...ofRequest, taskId: "no-such-task", agent }),
  },
  "a check of health": {
    line: "a call of gRPC could not be answered",
    fault: once(GrpcExchange.prototype, "reply"),
    call: over("grpc", (caller) => caller.call(Health.method.check, {}, headers)),
    facts: () => ofRequest,
  },
  "a stream of gRPC": {
    line: "a stream of gRPC could not be written",
    fault: once(GrpcExchange.prototype, "begin"),
    call: over("grpc", stream),
    facts: () => ({ ...ofRequest, agent }),
  },
  "an answer of Connect": {
    line: "a response could not be written",
    fault: once(NodeWriter.prototype, "write"),
    call: over("connect", stream),
    facts: () => ofRequest,
  },
  "a request that does not become a call": {
    line: "A call failed.",
    fault: once(InboundBudget.prototype, "begin"),
    call: async ({ server }) => {
      const all = { "content-type": "application/json", ...headers };
      await fetch(server.url, { method: "POST", headers: all, body: "{}" });
    },
    facts: () => ({ ...ofRequest, binding: "jsonrpc" }),
  },
  "a damaged task": { line: "A call failed.", fault: damage, call: over("rest", get), facts: ofTask },
  "a store that refuses to read": {
    line: "A call failed.",
    fault: refuse,
    call: over("rest", get),
    facts: (world) => ({ ...ofTask(world), reason: "UNAVAILABLE" }),
  },
  "a list without a damaged task": {
    line: "a task cannot be read; it is left out of a list",
    fault: damage,
    call: over("rest", list),
    facts: ofTask,
  },
  "a list without a task that cannot be shown": {
    line: "a task cannot be shown; it is left out of a list",
    fault: unshowable,
    call: over("rest", list),
    facts: ofTask,
  },
  "a turn that refers to a damaged task": {
    line: "tasks cannot be read for an agent",
    fault: damage,
    call: ({ server, taskId }) => post(server, { referenceTaskIds: [taskId] }),
    facts: () => ({ ...ofRequest, taskId: expect.any(String), agent }),
  },
  "a turn that cannot read its conversation": {
    line: "tasks cannot be read for an agent",
    fault: () => void vi.spyOn(TaskReader.prototype, "read").mockRejectedValue(new StoreError("conflict", "a fault")),
    call: ({ server }) => post(server, { parts: [{ text: "recall" }] }),
    facts: () => ({ ...ofRequest, taskId: expect.any(String), agent }),
  },
  "an operator's look at a damaged task": {
    line: "a task cannot be read",
    fault: damage,
    call: ofOperator((caller, { taskId }) => caller.call(AdminService.method.getTask, { taskId }, asOperator)),
    facts: ofTask,
  },
  "an operator's search of a damaged task": {
    line: "a task cannot be read",
    fault: damage,
    call: ofOperator((caller) => caller.call(AdminService.method.listTasks, { text: "x" }, asOperator)),
    facts: ofTask,
  },
  "an operator's call that fails": {
    line: "A call failed.",
    fault: ({ store }) => void vi.spyOn(store, "read").mockImplementation(failing),
    call: ofOperator((caller, { taskId }) => caller.call(AdminService.method.exportTask, { taskId }, asOperator)),
    facts: ofTask,
  },
};

describe("a line of the log", () => {
  it.each(Object.entries(cases))("names its call: %s", async (_name, { line, fault, call, facts }) => {
    const world = await open();
    fault(world);
    onTestFinished(() => void vi.restoreAllMocks());
    await call(world);
    const found = (): unknown => world.lines.find((each) => each.message === line)?.facts;
    await expect.poll(found).toMatchObject({ err: expect.anything(), ...facts(world) });
    const failures = world.lines.filter(({ facts }) => facts.err !== undefined);
    expect(failures.map(({ facts }) => facts)).toEqual(failures.map(() => expect.objectContaining(ofRequest)));
  });

  it("names its call in the record of an operator's redrive", async () => {
    const world = await open();
    vi.spyOn(world.store, "redriveDeliveries").mockResolvedValue(1);
    onTestFinished(() => void vi.restoreAllMocks());
    const keys = [{ taskId: world.taskId, configId: "c-1" }];
    await ofOperator((caller) => caller.call(AdminService.method.redriveDeliveries, { keys }, asOperator))(world);
    const found = world.records.filter(({ event }) => /admin.write|push.redriven/.test(event));
    expect(found.map(({ event }) => event)).toEqual(["admin.write", "push.redriven"]);
    for (const record of found) expect(record).toMatchObject({ ...ofTask(world), count: 1 });
  });

  it("names its call: one on a server of grpc-js that can neither be answered nor ended", async () => {
    const { lines, logger } = recorded();
    const { implementation } = createGrpcBinding({
      ...{ service: A2AService, limits: defaultLimits, logger },
      invoke: async ({ call }) => {
        call.traceParent = headers.traceparent;
        call.taskId = "t";
        return fail();
      },
    });
    const metadata = Metadata.fromHttp2Headers(headers);
    const grpc = { metadata, request: {}, cancelled: false, once: () => {}, sendMetadata: fail, emit: fail };
    for (const name of ["GetTask", "SubscribeToTask"]) implementation[name]?.(grpc, fail);
    await expect
      .poll(() => lines.filter(({ message }) => message.startsWith("a call of gRPC could not be ")))
      .toMatchObject(
        ["answered", "ended", "answered", "ended"].map((what) => ({
          message: `a call of gRPC could not be ${what}`,
          facts: { ...ofRequest, taskId: "t" },
        })),
      );
  });
});
