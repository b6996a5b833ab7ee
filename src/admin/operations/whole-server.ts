import { create, type DescMessage, fromJson, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import {
  AdminService,
  DrainResponseSchema,
  GetServerResponseSchema,
  ListAuditRecordsRequestSchema,
  ListAuditRecordsResponseSchema,
  ListExecutionsRequestSchema,
  ListExecutionsResponseSchema,
  ListLimitsResponseSchema,
  SetLogLevelResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import type { AdminContext, AdminMethods } from "../methods.js";
import { pageOf } from "../page.js";
import type { OtherProcesses } from "../parts.js";
import { microsOf } from "./audit-records.js";

/** Methods that report on one process. All others use the store, which the processes of a server share. */
type OfProcess = Pick<
  AdminMethods,
  "getServer" | "listExecutions" | "listLimits" | "setLogLevel" | "drain" | "listAuditRecords"
>;

/** Merges the answers of a server's processes into one. The first answer is that of the called process. */
type Merge = {
  readonly [K in keyof OfProcess]: (answers: Answers<K>, request: Parameters<OfProcess[K]>[0]) => Answers<K>[0];
};

type Answers<K extends keyof OfProcess> = readonly [
  Awaited<ReturnType<OfProcess[K]>>,
  ...Awaited<ReturnType<OfProcess[K]>>[],
];

/** Makes the methods about a process answer for all processes of the server. */
export function ofWholeServer(own: OfProcess, others: OtherProcesses | undefined): OfProcess {
  if (others === undefined) return own;
  const merges = mergesOf(others);
  const names = Object.keys(merges) as (keyof OfProcess)[];
  return Object.fromEntries(names.map((name) => [name, ofAll(name, own, others, merges)])) as unknown as OfProcess;
}

/** The types of one method, whose relation TypeScript does not see through its name. */
type AnyMethod = (request: unknown, context: AdminContext | undefined) => Promise<MessageShape<DescMessage>>;

function ofAll(name: keyof OfProcess, own: OfProcess, others: OtherProcesses, merges: Merge): AnyMethod {
  const { input, output } = AdminService.method[name];
  const question = `admin.${name}`;
  const ask = own[name] as unknown as AnyMethod;
  const merge = merges[name] as unknown as (answers: readonly unknown[], request: unknown) => MessageShape<DescMessage>;
  // None of these methods depends on its caller.
  others.answer(question, async (value) =>
    toJson(output as DescMessage, await ask(fromJson(input, value as JsonValue), undefined)),
  );
  return async (request, context) => {
    // Runs first, because it may reject the request.
    const mine = await ask(request, context);
    const answers = await others.ask(question, toJson(input, request as MessageShape<typeof input>));
    const theirs = answers.filter((answer) => answer !== null);
    return merge([mine, ...theirs.map((answer) => fromJson(output, answer as JsonValue))], request);
  };
}

/** Numbers of a server's facts that are sums over its processes. */
const sums = [
  "calls",
  "streams",
  "running",
  "waiting",
  "leases",
  "deliveries",
  "memoryBytes",
  "endedCalls",
  "commits",
] as const;

function mergesOf({ sharedLimits }: OtherProcesses): Merge {
  return {
    getServer: (all) => {
      const server = create(GetServerResponseSchema, all[0]);
      for (const name of sums) server[name] = all.reduce((sum, each) => sum + each[name], 0n);
      server.commitSeconds = all.reduce((sum, each) => sum + each.commitSeconds, 0);
      server.holder = all.map(({ holder }) => holder).join(" ");
      return server;
    },
    listExecutions: (all, request) => {
      const page = pageOf(ListExecutionsRequestSchema, request, ["string"]);
      const executions = all.flatMap((each) => each.executions);
      const idOf = (execution: (typeof executions)[number]): string => execution.task?.taskId ?? "";
      executions.sort((one, other) => (idOf(one) < idOf(other) ? -1 : 1));
      const shown = executions.slice(0, page.limit);
      const last = shown.at(-1);
      const isCut = shown.length < executions.length || all.some(({ nextPageToken }) => nextPageToken !== "");
      const nextPageToken = isCut && last !== undefined ? page.token([idOf(last)]) : "";
      return create(ListExecutionsResponseSchema, { executions: shown, nextPageToken });
    },
    listLimits: (all) => {
      const [{ limits }] = all;
      return create(ListLimitsResponseSchema, {
        limits: limits.map((limit) => {
          const same = all.flatMap((each) => each.limits.filter(({ name }) => name === limit.name));
          const value = sharedLimits.includes(limit.name)
            ? same.reduce((sum, each) => sum + each.value, 0)
            : limit.value;
          return { ...limit, value, refused: same.reduce((sum, each) => sum + each.refused, 0n) };
        }),
      });
    },
    setLogLevel: ([first]) => create(SetLogLevelResponseSchema, first),
    drain: (all) => create(DrainResponseSchema, { running: all.reduce((sum, each) => sum + each.running, 0n) }),
    listAuditRecords: (all, request) => {
      const page = pageOf(ListAuditRecordsRequestSchema, request, ["number"]);
      const records = all.flatMap((each) => each.records);
      records.sort((one, other) => microsOf(other) - microsOf(one));
      const shown = records.slice(0, page.limit);
      const last = shown.at(-1);
      const isCut = shown.length < records.length || all.some(({ nextPageToken }) => nextPageToken !== "");
      const nextPageToken = isCut && last !== undefined ? page.token([microsOf(last)]) : "";
      return create(ListAuditRecordsResponseSchema, { records: shown, nextPageToken });
    },
  };
}
