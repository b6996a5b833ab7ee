import { create as createMessage } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { create } from "../../contract/setup.js";
import { ListExecutionsRequestSchema } from "../../gen/parley/admin/v1/admin_pb.js";
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
});
