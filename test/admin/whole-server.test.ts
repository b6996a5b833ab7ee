import { create as createMessage } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { create } from "../../contract/setup.js";
import { AdminService, ListExecutionsRequestSchema } from "../../gen/parley/admin/v1/admin_pb.js";
import { serverOperations } from "../../src/admin/operations/server.js";
import { ofWholeServer } from "../../src/admin/operations/whole-server.js";
import type { AdminParts, OtherProcesses } from "../../src/admin/parts.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { pagesOf } from "./task-world.js";

type OfProcess = Parameters<typeof ofWholeServer>[0];

const store = memoryStore();
afterEach(() => store.close());

/** The operations of a process that executes tasks. */
function processWith(taskIds: readonly string[]): OfProcess {
  const executionViews = () => taskIds.map((taskId) => ({ taskId, since: 0, isRunning: true }));
  const agents = { resolve: () => undefined };
  return serverOperations({ store, agents, engine: { executionViews } } as unknown as AdminParts) as OfProcess;
}

const limit = (name: string, value: number, refused: bigint) => ({ name, value, defaultValue: 7, refused });
const record = (seconds: bigint) => ({ event: "key.used", at: { seconds } });

/** Numbers of a process that are added up, each of them different. */
function numbers(times: number): Record<string, bigint> {
  const names = [
    "calls",
    "streams",
    "running",
    "waiting",
    "leases",
    "deliveries",
    "memoryBytes",
    "endedCalls",
    "commits",
  ];
  return Object.fromEntries(names.map((name, index) => [name, BigInt((index + 1) * times)]));
}

describe("ofWholeServer()", () => {
  it("lists the executions of all processes, page by page", async () => {
    const all = ["a", "b", "c", "d", "e", "f", "g"];
    for (const taskId of all) await create(store, { taskId });
    let answer: Parameters<OtherProcesses["answer"]>[1] = () => null;
    const sharing = { sharedLimits: [], ask: async (_: string, value: unknown) => [await answer(value)] };
    ofWholeServer(processWith(["g", "c", "b"]), {
      ...sharing,
      answer: (question, answerer) => {
        if (question === "admin.listExecutions") answer = answerer;
      },
    });
    const { listExecutions } = ofWholeServer(processWith(["d", "a", "f", "e"]), { ...sharing, answer: () => {} });
    const read = async (page: { pageSize: number; pageToken: string }) => {
      const request = createMessage(ListExecutionsRequestSchema, page);
      const { executions, nextPageToken } = await listExecutions(request, {} as never);
      return { items: executions.map(({ task }) => task?.taskId), nextPageToken };
    };
    expect(await read({ pageSize: 7, pageToken: "" })).toEqual({ items: all, nextPageToken: "" });
    expect(await pagesOf(read)).toEqual(all);
  });

  /** Answers of two processes to a method, and the answer of their server. */
  const merged: Partial<Record<keyof OfProcess, readonly [one: object, other: object, both: object]>> = {
    getServer: [
      { holder: "one", version: "1", ...numbers(1), commitSeconds: 0.25, storeBytes: 5n },
      { holder: "two", version: "1", ...numbers(10), commitSeconds: 0.5, storeBytes: 5n },
      { holder: "one two", version: "1", ...numbers(11), commitSeconds: 0.75, storeBytes: 5n },
    ],
    listLimits: [
      { limits: [limit("maxCalls", 8, 1n), limit("maxParts", 9, 2n)] },
      { limits: [limit("maxCalls", 8, 10n), limit("maxParts", 9, 20n)] },
      { limits: [limit("maxCalls", 16, 11n), limit("maxParts", 9, 22n)] },
    ],
    setLogLevel: [{ previous: "info" }, { previous: "info" }, { previous: "info" }],
    drain: [{ running: 1n }, { running: 10n }, { running: 11n }],
    listAuditRecords: [
      { records: [record(5n), record(2n)] },
      { records: [record(4n), record(3n)] },
      { records: [record(5n), record(4n), record(3n), record(2n)] },
    ],
  };

  it.each(Object.entries(merged))("merges the answers of all processes to %s", async (name, [one, other, both]) => {
    const { input, output } = AdminService.method[name as keyof OfProcess];
    const of = (answer: object): OfProcess => ({ [name]: async () => createMessage(output, answer) }) as never;
    let answers: Parameters<OtherProcesses["answer"]>[1] = () => null;
    const sharing = { sharedLimits: ["maxCalls"], ask: async (_: string, value: unknown) => [await answers(value)] };
    ofWholeServer(of(other), {
      ...sharing,
      answer: (question, answerer) => {
        if (question === `admin.${name}`) answers = answerer;
      },
    });
    const whole = ofWholeServer(of(one), { ...sharing, answer: () => {} });
    const method = whole[name as keyof OfProcess] as (request: unknown, context: unknown) => Promise<unknown>;
    expect(await method(createMessage(input, {}), {})).toEqual(createMessage(output, both));
  });
});
