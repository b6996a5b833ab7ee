import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { pause } from "../../../core/async.js";
import { attempt } from "../../../core/members.js";

/** Age of a lock after which its holder is taken to have crashed, in milliseconds. Work under a lock takes less. */
const STALE_MS = 120_000;

/** Longest wait for a lock, in milliseconds. */
const MAX_WAIT_MS = 60_000;

/** Delay between attempts, in milliseconds. */
const RETRY_MS = 20;

/**
 * Runs work while no other process holds the lock, which is a file. The lock of a process that has ended is removed.
 *
 * @param signal ends the wait for the lock
 * @throws Error if the lock cannot be had, or the folder does not allow it
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const mine = `${process.pid} ${hostname()} ${randomUUID()}`;
  const until = performance.now() + MAX_WAIT_MS;
  while (!taken(path, mine)) {
    if (signal?.aborted) throw signal.reason;
    if (performance.now() > until) throw new Error(`${path} is held by another process`);
    removeStale(path);
    // Without a pause, a lock that can neither be read nor removed would block the process.
    await pause(RETRY_MS, signal);
  }
  try {
    return await work();
  } finally {
    if (holderOf(path) === mine) rmSync(path, { force: true });
  }
}

/** Creates the lock; false if it exists. */
function taken(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Removes the lock of a holder that has ended. */
function removeStale(path: string): void {
  const text = holderOf(path);
  if (text === undefined || !isStale(path, text)) return;
  // Another process may have removed this lock and taken its own meanwhile: then its lock is put back.
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
    if (holderOf(aside) !== text) linkSync(aside, path);
  } catch {
    // Another process was faster.
  }
  rmSync(aside, { force: true });
}

function isStale(path: string, text: string): boolean {
  const [pid, host] = text.split(" ");
  if (host === hostname() && pid !== undefined && !isAlive(Number(pid))) return true;
  return attempt(() => Date.now() - statSync(path).mtimeMs > STALE_MS) ?? false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const holderOf = (path: string): string | undefined => attempt(() => readFileSync(path, "utf8"));
