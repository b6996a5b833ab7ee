import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  DrainResponseSchema,
  type Execution,
  ExecutionSchema,
  GetOperatorResponseSchema,
  GetServerResponseSchema,
  type LimitUseSchema,
  ListExecutionsRequestSchema,
  ListExecutionsResponseSchema,
  ListLimitsResponseSchema,
  SetLogLevelResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { A2AError, invalid } from "../../core/error.js";
import { defaultLimitsOf, heapLimit } from "../../core/limits.js";
import { RELEASE } from "../../core/release.js";
import { countLeases } from "../../store/count-leases.js";
import type { AdminMethods } from "../methods.js";
import { pageOf } from "../page.js";
import type { AdminParts } from "../parts.js";
import { summaryOf } from "./task-summary.js";

type Methods = Pick<AdminMethods, "getServer" | "listExecutions" | "listLimits" | "setLogLevel" | "drain">;

export const operatorOperation: Pick<AdminMethods, "getOperator"> = {
  getOperator: async (_request, { operator: { name, role } }) => create(GetOperatorResponseSchema, { name, role }),
};

/** Levels that a log may be set to. */
const levels = ["debug", "info", "warn", "error"];

/** Reads and changes the state of the server. */
export function serverOperations(parts: AdminParts): Methods {
  const { lifecycle, logger } = parts;
  return {
    getServer: () => getServer(parts),
    listExecutions: async (request) => {
      const page = pageOf(ListExecutionsRequestSchema, request, ["string"]);
      const [after = ""] = page.after ?? [];
      const all = parts.engine.executionViews().filter(({ taskId }) => taskId > after);
      all.sort((one, other) => (one.taskId < other.taskId ? -1 : 1));
      const shown = all.slice(0, page.limit);
      const last = shown.at(-1);
      return create(ListExecutionsResponseSchema, {
        executions: (await Promise.all(shown.map((view) => executionOf(parts, view)))).filter(
          (each) => each !== undefined,
        ),
        nextPageToken: last !== undefined && all.length > shown.length ? page.token([last.taskId]) : "",
      });
    },
    listLimits: async () => create(ListLimitsResponseSchema, { limits: limitsOf(parts) }),
    setLogLevel: async ({ level }) => {
      if (!levels.includes(level)) {
        throw invalid([{ field: "level", description: `must be one of ${levels.join(", ")}` }]);
      }
      const previous = logger.level;
      if (previous === undefined)
        throw new A2AError("UNSUPPORTED_OPERATION", "The server's logger has no level to set.");
      logger.level = level;
      return create(SetLogLevelResponseSchema, { previous });
    },
    drain: async () => {
      lifecycle.beginDrain();
      return create(DrainResponseSchema, { running: BigInt(lifecycle.running) });
    },
  };
}

async function getServer(parts: AdminParts): ReturnType<Methods["getServer"]> {
  const { agents, engine, lifecycle, logger, metrics, push, store, versions } = parts;
  const { bytes, dead, interrupted } = await store.census();
  return create(GetServerResponseSchema, {
    version: RELEASE,
    nodeVersion: globalThis.process?.versions?.node ?? "",
    protocolVersions: [...versions],
    agents: agents.all.map(({ tenant = "", card }) => ({ tenant, name: card.name, version: card.version })),
    started: timestampFromMs(Math.round(performance.timeOrigin)),
    holder: engine.holder,
    readiness: lifecycle.readiness,
    readinessReason: unreadyReason(parts),
    calls: BigInt(metrics.openCalls()),
    streams: BigInt(metrics.openStreams()),
    running: BigInt(engine.running),
    waiting: BigInt(engine.queued),
    leases: BigInt(await countLeases(store, engine.holder)),
    storeBytes: BigInt(bytes),
    store: store.kind,
    logLevel: logger.level ?? "",
    deliveries: BigInt(push?.status().working ?? 0),
    deadDeliveries: BigInt(dead),
    memoryBytes: BigInt(globalThis.process?.memoryUsage?.rss() ?? 0),
    interrupted: BigInt(interrupted),
    shared: store.shared,
    endedCalls: BigInt(metrics.endedCalls()),
    ...(parts.retentionMs !== undefined && { retentionMs: BigInt(parts.retentionMs) }),
    ...commitsOf(metrics),
  });
}

/** Returns all limits, ordered by name. A limit that no option sets has its value as the default. */
function limitsOf({ limits, fixedLimits, metrics }: AdminParts): MessageInitShape<typeof LimitUseSchema>[] {
  const values: Readonly<Record<string, number>> = { ...limits, ...fixedLimits };
  const defaults: Readonly<Record<string, number>> = { ...defaultLimitsOf(heapLimit()), ...fixedLimits };
  return Object.entries(values)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => ({
      ...{ name, value, defaultValue: defaults[name] ?? value },
      refused: BigInt(metrics.refusalsByLimit(name)),
    }));
}

function commitsOf({ commitDuration }: AdminParts["metrics"]): { commits: bigint; commitSeconds: number } {
  const [all] = commitDuration.read();
  return { commits: BigInt(all?.value.count ?? 0), commitSeconds: all?.value.sum ?? 0 };
}

function unreadyReason({ lifecycle, store }: AdminParts): string {
  const { status } = store.health;
  if (lifecycle.readiness === "starting") return "The server has not started yet.";
  if (lifecycle.readiness === "draining") return "The server refuses new calls, because it is going to end.";
  return status.healthy ? "" : status.reason;
}

async function executionOf(
  parts: AdminParts,
  { taskId, isRunning, since }: { readonly taskId: string; readonly isRunning: boolean; readonly since: number },
): Promise<Execution | undefined> {
  const head = await parts.store.head({ taskId });
  // Its task is being created, or was removed meanwhile.
  if (head === undefined) return undefined;
  return create(ExecutionSchema, {
    task: summaryOf(parts, head),
    running: isRunning,
    since: timestampFromMs(Math.round(since)),
  });
}
