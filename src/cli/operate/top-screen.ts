import type { GetServerResponse, TaskSummary } from "../../../gen/parley/admin/v1/admin_pb.js";
import { printable } from "../log.js";
import { clipped, type Look, paint } from "../look.js";
import { facts, table } from "../table.js";
import { age, bytes, taskColumns, taskRow } from "./format.js";
import { readinessCell } from "./server.js";

export interface Sample {
  readonly server: GetServerResponse;
  /** Newest first. */
  readonly tasks: readonly TaskSummary[];
  /** `performance.now()` of the answer. */
  readonly at: number;
}

interface View {
  /** Address of the server. */
  readonly place: string;
  readonly now: Sample;
  /** The sample before, of which rates are computed. */
  readonly before?: Sample | undefined;
  /** Why there is no newer sample. */
  readonly fault?: string | undefined;
  /** Lines of the terminal. Default: any number. */
  readonly rows?: number;
}

/** Returns the lines of a screen, which fit the terminal. */
export function screen({ place, now, before, fault, rows }: View, look: Look): string[] {
  const { server, tasks } = now;
  const title = `${printable(place)}  Parley ${printable(server.version)}, up ${age(server.started)}`;
  const head = [
    paint(clipped(title, look), "bold", look),
    ...(fault === undefined ? [] : [paint(clipped(printable(fault), look), "red", look)]),
    ...facts(factsOf(now, before), look),
    "",
  ];
  const shown = rows === undefined ? tasks : tasks.slice(0, Math.max(0, rows - head.length - 1));
  const all = [...head, ...table(taskColumns, shown.map(taskRow), look)];
  return rows === undefined ? all : all.slice(0, rows);
}

function factsOf({ server, at }: Sample, before: Sample | undefined): Parameters<typeof facts>[0] {
  const { calls, streams, endedCalls, running, waiting, leases, interrupted, deliveries, deadDeliveries } = server;
  const { store, storeBytes, commits, commitSeconds, memoryBytes } = server;
  const last = before?.server;
  const seconds = before === undefined ? 0 : (at - before.at) / 1_000;
  const rate = (count: bigint, earlier: bigint | undefined): string | undefined =>
    // A server that was started again counts from 0.
    earlier === undefined || seconds <= 0 || count < earlier ? undefined : fixed(Number(count - earlier) / seconds);
  const callRate = rate(endedCalls, last?.endedCalls);
  const commitRate = rate(commits, last?.commits);
  const since = commitRate === undefined || last === undefined ? { commits: 0n, commitSeconds: 0 } : last;
  const made = Number(commits - since.commits);
  const commitMs = made > 0 ? `, ${fixed(((commitSeconds - since.commitSeconds) / made) * 1_000)} ms each` : "";
  const stored = `${store}, ${bytes(storeBytes)}`;
  return [
    ["Readiness", readinessCell(server)],
    ["Calls", `${callRate === undefined ? `${endedCalls} ended` : `${callRate}/s`}, ${calls} open, ${streams} streams`],
    ["Executions", `${running} running, ${waiting} waiting, ${leases} leases`],
    ["Tasks", `${interrupted} wait for a person`],
    ["Deliveries", `${deliveries} under way, ${deadDeliveries} dead`],
    ["Store", `${stored}, ${commitRate === undefined ? `${commits} commits` : `${commitRate} commits/s`}${commitMs}`],
    ["Memory", bytes(memoryBytes)],
  ];
}

const fixed = (value: number): string => value.toFixed(value < 100 ? 1 : 0);
