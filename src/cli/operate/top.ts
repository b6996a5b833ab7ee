import { toJson } from "@bufbuild/protobuf";
import type { Command } from "commander";
import {
  type GetServerResponse,
  GetServerResponseSchema,
  type TaskSummary,
  TaskSummarySchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { pause } from "../../core/async.js";
import { CommandError, exitCodes } from "../command-error.js";
import type { Io } from "../io.js";
import { printable } from "../log.js";
import { clipped, type Look, lookOf, paint } from "../look.js";
import { facts, table } from "../table.js";
import { explained } from "./errors.js";
import { age, bytes, taskColumns, taskRow } from "./format.js";
import { print } from "./io.js";
import { addReach } from "./options.js";
import { readinessCell } from "./server.js";
import { type ReachFlags, type Service, withService } from "./service.js";

const help = `
It refreshes each second; q or Ctrl-C ends it. Without a terminal it prints one snapshot, with --json as one object.
`;

/** Adds `parley top`. */
export function add(top: Command, io: Io): void {
  addReach(top, { file: false })
    .addHelpText("after", help)
    .action((flags: ReachFlags) => run(flags, io));
}

/** Time between two samples, in milliseconds. */
const INTERVAL_MS = 1_000;

/** The most tasks that are read for a screen. */
const MAX_TASKS = 100;

function run(flags: ReachFlags, io: Io): Promise<void> {
  return withService(flags, io, async (client, service) => {
    const first = await sample(client, MAX_TASKS);
    if (flags.json) return print(io, jsonOf(first));
    if (io.stdout.isTTY === true && io.stdin.isTTY === true) return live(first, client, service, io);
    await print(io, `${screen({ place: service.place, now: first }, lookOf(io.stdout)).join("\n")}\n`);
  });
}

async function sample(client: Service["client"], pageSize: number, signal?: AbortSignal): Promise<Sample> {
  const options = signal === undefined ? {} : { signal };
  const [server, { tasks }] = await Promise.all([
    client.getServer({}, options),
    client.listTasks({ pageSize }, options),
  ]);
  return { server, tasks, at: performance.now() };
}

function jsonOf({ server, tasks }: Sample): string {
  const all = {
    server: toJson(GetServerResponseSchema, server),
    tasks: tasks.map((task) => toJson(TaskSummarySchema, task)),
  };
  return `${JSON.stringify(all)}\n`;
}

const enter = "\x1b[?1049h\x1b[?25l";
const leaveScreen = "\x1b[?25h\x1b[?1049l";

/** Shows a screen until `q`, Ctrl-C or a signal. A server that is lost for a while is shown as that. */
async function live(first: Sample, client: Service["client"], service: Service, io: Io): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, io.interrupted]);
  const onKey = (key: unknown): void => {
    // In raw mode Ctrl-C is a character.
    if (["q", "Q", "\x03"].some((end) => String(key).includes(end))) stop.abort();
  };
  io.stdin.setRawMode?.(true);
  io.stdin.on("data", onKey).resume();
  try {
    await print(io, enter);
    let [before, now]: readonly [Sample | undefined, Sample] = [undefined, first];
    for (let fault: string | undefined; !signal.aborted; ) {
      const lines = screen({ place: service.place, now, before, fault, rows: io.stdout.rows ?? 24 }, lookOf(io.stdout));
      await print(io, `\x1b[H${lines.map((line) => `${line}\x1b[K`).join("\r\n")}\x1b[J`);
      await pause(INTERVAL_MS, signal);
      if (signal.aborted) return;
      try {
        [before, now] = [now, await sample(client, MAX_TASKS, signal)];
        fault = undefined;
      } catch (error) {
        fault = faultOf(error, service);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    io.stdin.off("data", onKey).pause();
    io.stdin.setRawMode?.(false);
    io.stdout.write(leaveScreen);
  }
}

/** The text of a fault that may pass. @throws CommandError for any other */
function faultOf(error: unknown, service: Service): string {
  const failure = explained(error, service);
  if (failure instanceof CommandError && failure.exitCode !== exitCodes.credentials) return failure.message;
  throw failure;
}

interface Sample {
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
  /** Reason for which the last sample failed. */
  readonly fault?: string | undefined;
  /** Lines of the terminal. Default: any number. */
  readonly rows?: number;
}

/** Returns the lines of a screen, which fit the terminal. */
function screen({ place, now, before, fault, rows }: View, look: Look): string[] {
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
