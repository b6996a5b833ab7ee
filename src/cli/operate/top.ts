import { setTimeout as wait } from "node:timers/promises";
import { toJson } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { GetServerResponseSchema, TaskSummarySchema } from "../../../gen/parley/admin/v1/admin_pb.js";
import { CommandError, exitCodes } from "../command-error.js";
import type { Io } from "../io.js";
import { lookOf } from "../look.js";
import { explained } from "./errors.js";
import { print } from "./io.js";
import { addReach } from "./options.js";
import { type ReachFlags, type Service, withService } from "./service.js";
import { type Sample, screen } from "./top-screen.js";

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
const leave = "\x1b[?25h\x1b[?1049l";

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
      await wait(INTERVAL_MS, undefined, { signal });
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
    io.stdout.write(leave);
  }
}

/** The text of a fault that may pass. @throws CommandError for any other */
function faultOf(error: unknown, service: Service): string {
  const failure = explained(error, service);
  if (failure instanceof CommandError && failure.exitCode !== exitCodes.credentials) return failure.message;
  throw failure;
}
