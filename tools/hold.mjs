import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";

/** Who makes the file writes its number right then; a file without one, so old in milliseconds, is of who was ended in between. */
const UNWRITTEN_MS = 10_000;

/**
 * Waits for a file that only one process can make, and that stands for what one does at a time. A process that is gone holds nothing.
 * @returns what removes it
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

/** @returns false where the file is there */
function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  }
}

/** Removes a file whose process is gone: one who waits at a time, or the second would remove the file of the first. */
function clear(path) {
  const clearing = `${path}-clearing`;
  if (!take(clearing)) {
    if (isOver(clearing)) rmSync(clearing, { force: true });
    return;
  }
  if (isOver(path)) rmSync(path, { force: true });
  rmSync(clearing, { force: true });
}

/** The process that made a file; undefined when it is gone, or not written yet. */
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
    // It is somebody else's, and there.
    return error.code === "EPERM";
  }
}
