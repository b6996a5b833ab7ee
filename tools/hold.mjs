import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";

/**
 * Maximum age of a file without a process number, in milliseconds. A process writes its number immediately after it creates
 * the file, so that an older one belongs to a process that was ended in between.
 */
const UNWRITTEN_MS = 10_000;

/**
 * Waits until this process can create a lock file. The file of a process that has ended is removed.
 * @returns a function that removes the file
 */
export async function hold(path) {
  mkdirSync(dirname(path), { recursive: true });
  for (let told = false; ; ) {
    if (take(path)) return () => rmSync(path, { force: true });
    if (isOver(path)) clear(path);
    const holder = holderOf(path);
    if (!told && holder !== undefined) process.stderr.write(`Waiting for process ${holder}, which does the same …\n`);
    told ||= holder !== undefined;
    await setTimeout(50);
  }
}

/** @returns false if the file exists */
function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  }
}

/**
 * Removes the file of a process that has ended. Waiting processes do so one at a time, because a second one would remove the
 * new file of the first.
 */
function clear(path) {
  const clearing = `${path}-clearing`;
  if (!take(clearing)) {
    if (isOver(clearing)) rmSync(clearing, { force: true });
    return;
  }
  if (isOver(path)) rmSync(path, { force: true });
  rmSync(clearing, { force: true });
}

/** Returns the process that created a file; undefined if the file is removed or its number is not written yet. */
function holderOf(path) {
  try {
    return Number(readFileSync(path, "utf8")) || undefined;
  } catch {
    return undefined;
  }
}

function isOver(path) {
  const holder = holderOf(path);
  if (holder !== undefined) return !isAlive(holder);
  const { mtimeMs = Date.now() } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return Date.now() - mtimeMs > UNWRITTEN_MS;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists and belongs to another user.
    return error.code === "EPERM";
  }
}
