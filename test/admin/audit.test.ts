import type { DescMethod } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { roleOf } from "../../src/admin/service.js";
import type { AuditRecord } from "../../src/index.js";
import { bindings, type Caller } from "./callers.js";
import { bearer, openWorld, tokens, type World } from "./world.js";

/** Audit records of operators' calls. */

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await openWorld();
  caller = bindings.grpc(world.address);
});
afterAll(async () => {
  caller.close();
  await world.server.close();
});

async function recordsOf(work: () => Promise<unknown>): Promise<Partial<AuditRecord>[]> {
  const before = world.records.length;
  await work();
  return world.records.slice(before).map(({ at, requestId, ...record }) => {
    expect(requestId).toMatch(/./);
    return record;
  });
}

/** Fields that pass validation. They name a task that does not exist. */
const fields: Record<string, unknown> = {
  taskId: "no-such-task",
  configId: "no-such-config",
  generation: 1,
  parts: [{ content: { case: "text", value: "answer-text-4714-" } }],
  lines: "{}\n",
  level: "info",
  name: "../escape",
  owner: "nobody",
};

const call = { service: "admin", operator: "wendy", address: "127.0.0.1", binding: "grpc", agent: "operated" };

const writes = AdminService.methods.filter((method) => roleOf(method) === "write");

describe("the audit log of AdminService", () => {
  it.each(writes.map((method) => [method.name, method] as const))(
    "records %s before it begins",
    async (name, method) => {
      const own = method.input.fields.filter(({ localName }) => localName in fields);
      const request = Object.fromEntries(own.map(({ localName }) => [localName, fields[localName]]));
      const [first, ...others] = await recordsOf(() => caller.call(method, request, bearer(tokens.write)));
      const target = ["taskId", "configId", "name", "level"].flatMap((field) => request[field] ?? []).join("/");
      expect(first).toEqual({
        event: "admin.write",
        outcome: "success",
        ...call,
        method: name,
        ...(target !== "" && { target }),
        ...(request.taskId !== undefined && { taskId: request.taskId }),
        ...(request.owner !== undefined && { owner: request.owner }),
      });
      // A call that fails writes a second record.
      for (const other of others.filter(({ event }) => event === "admin.write")) {
        expect(other).toEqual({ ...first, outcome: "failure", reason: expect.stringMatching(/^[A-Z_]+$/) });
      }
    },
  );

  it("records the failure of a write, with its reason", async () => {
    const { cancelTask } = AdminService.method;
    const records = await recordsOf(() => caller.call(cancelTask, { taskId: "x" }, bearer(tokens.write)));
    const of = { event: "admin.write", ...call, method: "CancelTask", target: "x", taskId: "x" };
    expect(records).toEqual([
      { ...of, outcome: "success" },
      { ...of, outcome: "failure", reason: expect.any(String) },
    ]);
  });

  const header = { taskId: "t-1", tenant: "of-header", owner: "alice" };
  const keys = ["c-1", "c-2"].map((configId) => ({ taskId: "t-1", configId }));
  it.each<[string, DescMethod, object, object]>([
    ["import", AdminService.method.importTask, { lines: `${JSON.stringify(header)}\n` }, { ...header, target: "t-1" }],
    [
      "import with other names",
      AdminService.method.importTask,
      { lines: `${JSON.stringify(header)}\n`, taskId: "t-2", tenant: "", owner: "bob" },
      { taskId: "t-2", owner: "bob", target: "t-2" },
    ],
    ["import without a header", AdminService.method.importTask, { lines: "[]\n" }, {}],
    [
      "redrive of a configuration",
      AdminService.method.redriveDeliveries,
      { keys: keys.slice(0, 1) },
      { taskId: "t-1", target: "t-1/c-1", count: 1 },
    ],
    [
      "redrive of configurations of a task",
      AdminService.method.redriveDeliveries,
      { keys },
      { taskId: "t-1", target: "t-1", count: 2 },
    ],
    [
      "redrive of several tasks",
      AdminService.method.redriveDeliveries,
      { keys: [...keys, { taskId: "t-2", configId: "c-1" }] },
      { count: 3 },
    ],
  ])("names what a request is about: %s", async (_what, method, request, named) => {
    const records = await recordsOf(() => caller.call(method, { ...request }, bearer(tokens.write)));
    expect(records[0]).toEqual({ event: "admin.write", outcome: "success", ...call, method: method.name, ...named });
  });

  it("records nothing of reads", async () => {
    const { getServer } = AdminService.method;
    expect(await recordsOf(() => caller.call(getServer, {}, bearer(tokens.read)))).toEqual([]);
  });

  it("records refused operators, with their names where they are known", async () => {
    const { drain } = AdminService.method;
    const refused = { outcome: "denied", ...call, method: "Drain" };
    const { operator: _, ...unknown } = refused;
    expect(await recordsOf(() => caller.call(drain))).toEqual([
      { event: "authentication.failed", ...unknown, reason: "missing" },
    ]);
    expect(await recordsOf(() => caller.call(drain, {}, bearer(tokens.wrong)))).toEqual([
      { event: "authentication.failed", ...unknown, reason: "refused", scheme: "admin" },
    ]);
    expect(await recordsOf(() => caller.call(drain, {}, bearer(tokens.read)))).toEqual([
      { event: "access.denied", ...refused, operator: "rita", reason: "PERMISSION_DENIED" },
    ]);
  });

  it("has no secret", () => {
    expect(JSON.stringify(world.records)).not.toMatch(/-471[1-4]-/);
  });
});
