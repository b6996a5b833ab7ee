import { userInfo } from "node:os";
import { AuditRecorder } from "../audit/audit.js";
import { silentLogger } from "../core/log.js";
import { openPushMaintenance, type PushMaintenance } from "../store/sqlite/push-maintenance.js";
import type { DeadDelivery, PushConfigKey } from "../store/task-store.js";
import { AuditFile } from "./audit-file.js";
import { printable } from "./log.js";
import { UsageError } from "./usage-error.js";

/** Rows to read at once. */
const PAGE = 500;

/** `parley push list`. */
export function listCommand({ store, tenant, owner, limit, json }: PushListFlags): void {
  const filter = { ...(tenant !== undefined && { tenant }), ...(owner !== undefined && { owner }) };
  const file = openPushMaintenance(store);
  try {
    for (const dead of deadIn(file, filter, limit)) process.stdout.write(`${json ? jsonOf(dead) : lineOf(dead)}\n`);
  } finally {
    file.close();
  }
}

/** `parley push redrive`: prints the number of configurations. */
export async function redriveCommand({ store, task, config, all, audit }: PushRedriveFlags): Promise<void> {
  if (all === (task !== undefined)) throw new UsageError("give --task, or --all for all of them");
  if (config !== undefined && task === undefined) throw new UsageError("--config needs the --task that it belongs to");
  // The log is opened first: a redrive that cannot be audited must not happen.
  const log = audit === "off" ? undefined : new AuditFile(audit, { ...silentLogger, error: cannotRecord });
  const file = openPushMaintenance(store);
  try {
    const keys = task === undefined ? undefined : keysOf(file, task, config);
    const count = await file.redrive({ now: Date.now(), ...(keys && { keys }) });
    if (count > 0 && log !== undefined) {
      const target = [task, config].filter((id) => id !== undefined).join("/");
      const recorder = new AuditRecorder(log);
      recorder.record({ event: "push.redriven", reason: "command", subject: userName(), target, count });
    }
    process.stdout.write(`${count}\n`);
  } finally {
    file.close();
  }
}

function cannotRecord({ err }: { err?: Error }, message: string): void {
  process.stderr.write(`parley: ${message}: ${err?.message}\n`);
  process.exitCode = 1;
}

/** The user name; the numeric id if the system has none. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "");
  }
}

function* deadIn(
  file: PushMaintenance,
  filter: { readonly tenant?: string; readonly owner?: string },
  limit: number,
): Generator<DeadDelivery> {
  let after: PushConfigKey | undefined;
  for (let left = limit; left > 0; ) {
    const page = file.listDead({ ...filter, limit: Math.min(PAGE, left), ...(after && { after }) });
    yield* page;
    left -= page.length;
    after = page.at(-1);
    if (after === undefined) return;
  }
}

function keysOf(file: PushMaintenance, taskId: string, configId: string | undefined): PushConfigKey[] {
  if (configId !== undefined) return [{ taskId, configId }];
  const keys: PushConfigKey[] = [];
  // The empty id sorts before every id of a configuration.
  for (let after: PushConfigKey = { taskId, configId: "" }; ; ) {
    const page = file.listDead({ after, limit: PAGE });
    for (const dead of page) if (dead.taskId === taskId) keys.push({ taskId, configId: dead.configId });
    const last = page.at(-1);
    if (last === undefined || last.taskId !== taskId) return keys;
    after = last;
  }
}

function lineOf({ at, taskId, configId, target, position, headPosition, failure }: DeadDelivery): string {
  const time = new Date(at).toISOString();
  return printable([time, taskId, configId, target, `${headPosition - position}`, failure].join("  "));
}

/** Returns the JSON of a row without the configuration itself, which contains secrets. */
function jsonOf({ bytes, at, failingSince, ...rest }: DeadDelivery): string {
  const since = failingSince === undefined ? undefined : new Date(failingSince).toISOString();
  return JSON.stringify({ ...rest, failingSince: since, givenUpAt: new Date(at).toISOString() });
}

/** Flags of `parley push list`. */
export interface PushListFlags {
  readonly store: string;
  readonly tenant?: string;
  readonly owner?: string;
  readonly limit: number;
  readonly json: boolean;
}

/** Flags of `parley push redrive`. */
export interface PushRedriveFlags {
  readonly store: string;
  readonly task?: string;
  readonly config?: string;
  readonly all: boolean;
  readonly audit: string;
}
