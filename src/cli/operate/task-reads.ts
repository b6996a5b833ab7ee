import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Entry, EntrySchema, type TaskSummary, TaskSummarySchema } from "../../../gen/parley/admin/v1/admin_pb.js";
import { given } from "../../core/options.js";
import { CommandError } from "../command-error.js";
import type { Io } from "../io.js";
import { printable } from "../log.js";
import { clipped, type Look, lookOf, paint } from "../look.js";
import { facts, table } from "../table.js";
import { deliveryColumns, deliveryRow } from "./delivery-rows.js";
import { entryLines, messageText, partsText } from "./entry.js";
import { bytes, jsonLine, moment, stateCell, stateName, taskColumns, taskRow } from "./format.js";
import { OutputClosed, print, remark } from "./io.js";
import { methods, printAnswer, printList } from "./responses.js";
import { type ReachFlags, type Service, withService } from "./service.js";

export interface ListFlags extends ReachFlags {
  readonly state?: TaskState[];
  readonly tenant?: string;
  readonly owner?: string;
  readonly context?: string;
  readonly agent?: string;
  readonly since?: Timestamp;
  readonly before?: Timestamp;
  readonly text?: string;
  readonly unattended: boolean;
  readonly limit: number;
}

/** `parley tasks list`. */
export function list(flags: ListFlags, io: Io): Promise<void> {
  const { state: states = [], context: contextId = "", agent = "", text = "", unattended, limit } = flags;
  const { tenant, owner, since: statusFrom, before: statusBefore } = flags;
  const filter = { states, contextId, agent, text, unattended, ...given({ tenant, owner, statusFrom, statusBefore }) };
  return printList(io, flags, methods.listTasks, {
    request: filter,
    items: "tasks",
    limit,
    columns: taskColumns,
    row: taskRow,
    none: "no task matches",
  });
}

/** `parley tasks show`. */
export function show(taskId: string, flags: ReachFlags, io: Io): Promise<void> {
  const look = lookOf(io.stdout);
  return printAnswer(io, flags, methods.getTask, { taskId }, ({ summary, task, deliveries, damaged, bytes: size }) => {
    const rows = deliveries.map(deliveryRow);
    return [
      ...facts(summary === undefined ? [] : summaryFacts(summary, size), look),
      ...(damaged ? [paint("Its log is damaged: `parley tasks log` prints its readable entries.", "red", look)] : []),
      ...(task === undefined ? [] : taskLines(task, look)),
      ...(rows.length === 0 ? [] : ["", ...table(deliveryColumns, rows, look)]),
    ];
  });
}

function summaryFacts(summary: TaskSummary, size: bigint): Parameters<typeof facts>[0] {
  const { taskId, state, statusTime, tenant, owner, agent, contextId, position, generation, lease } = summary;
  const { holder = "", turn = 0, attempt = 0 } = lease ?? {};
  const runs = `turn ${turn}, attempt ${attempt}, by ${holder === "" ? "any process" : holder}`;
  return [
    ["Task", taskId],
    ["State", stateCell(state)],
    ["Since", moment(statusTime)],
    ["Owner", owner],
    ["Tenant", tenant],
    ["Agent", agent],
    ["Context", contextId],
    ["Log", `${position} entries, generation ${generation}`],
    ["Size", bytes(size)],
    ["Runs", lease === undefined ? "" : runs],
  ];
}

/** History, status and artifacts, each as a line. */
function taskLines({ history, status, artifacts }: Task, look: Look): string[] {
  const lines = history.map(messageText);
  if (status?.message !== undefined) lines.push(`${stateName(status.state)}: ${partsText(status.message.parts)}`);
  const ends = artifacts.map(({ artifactId, name, parts }) => `artifact ${name || artifactId}: ${partsText(parts)}`);
  const all = [...lines, ...ends].map((line) => clipped(printable(line), look));
  return all.length === 0 ? [] : ["", ...all];
}

export interface LogFlags extends ReachFlags {
  readonly after: number;
  readonly raw: boolean;
}

/** `parley tasks log`. */
export function log(taskId: string, flags: LogFlags, io: Io): Promise<void> {
  const { after, raw } = flags;
  return withService(flags, io, async (client) => {
    for (let pageToken = ""; ; ) {
      const page = await client.listEntries({ taskId, after, raw, pageToken });
      for (const entry of page.entries) await printEntry(io, entry, flags);
      pageToken = page.nextPageToken;
      if (pageToken === "") return;
    }
  });
}

function printEntry(
  io: Io,
  entry: Entry,
  { json, raw }: { readonly json: boolean; readonly raw: boolean },
): Promise<void> {
  if (json) return print(io, jsonLine(EntrySchema, entry));
  return print(io, `${entryLines(entry, lookOf(io.stdout), raw).join("\n")}\n`);
}

export interface WatchFlags extends ReachFlags {
  readonly after: number;
  readonly tenant?: string;
  readonly owner?: string;
}

/** `parley tasks watch`. */
export function watch(taskId: string | undefined, flags: WatchFlags, io: Io): Promise<void> {
  const signal = io.interrupted;
  return withService(flags, io, async (client) => {
    try {
      if (taskId === undefined) return await watchAll(client, flags, io, signal);
      await watchOne(client, taskId, flags, io, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      if (taskId !== undefined) throw new CommandError("failed", "interrupted before the task has ended");
    }
  });
}

async function watchOne(
  client: Service["client"],
  taskId: string,
  { after, json }: WatchFlags,
  io: Io,
  signal: AbortSignal,
): Promise<void> {
  let last = after;
  try {
    for await (const { entry } of client.followTask({ taskId, after }, { signal, timeoutMs: 0 })) {
      if (entry === undefined) continue;
      await printEntry(io, entry, { json, raw: false });
      last = entry.entry?.position ?? last + 1;
    }
  } catch (error) {
    if (last > after && !(error instanceof OutputClosed)) remark(io, `--after ${last} continues here`);
    throw error;
  }
}

async function watchAll(
  client: Service["client"],
  { tenant, owner, json }: WatchFlags,
  io: Io,
  signal: AbortSignal,
): Promise<void> {
  for await (const { task } of client.followTasks(given({ tenant, owner }), { signal, timeoutMs: 0 })) {
    if (task === undefined) continue;
    await print(io, json ? jsonLine(TaskSummarySchema, task) : `${changeLine(task, lookOf(io.stdout))}\n`);
  }
  if (!signal.aborted) throw new CommandError("unreached", "the server has ended the stream");
}

function changeLine({ statusTime, taskId, state, owner, agent, position }: TaskSummary, look: Look): string {
  const words = [moment(statusTime), taskId, stateName(state).padEnd(14), `#${position}`, owner, agent];
  return clipped(printable(words.filter((word) => word !== "").join("  ")), look);
}
