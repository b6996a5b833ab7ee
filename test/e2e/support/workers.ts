import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Driver } from "../../support/driver.js";
import { resuming, say } from "./story.js";

/** Ids of the running processes that a process has started. */
export function childrenOf(pid: number): number[] {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.map(Number).filter((id) => {
    const [, state, parent] = /\) (\S) (\d+) /.exec(stat(id)) ?? [];
    return state !== "Z" && Number(parent) === pid;
  });
}

/** The process that writes the file for a server's workers. */
export function writerOf(pid: number): number | undefined {
  return childrenOf(pid).find(isWriter);
}

export function workersOf(pid: number): number[] {
  return childrenOf(pid).filter((id) => !isWriter(id));
}

function isWriter(id: number): boolean {
  try {
    return readFileSync(`/proc/${id}/cmdline`, "latin1").includes("writer-process");
  } catch {
    return false;
  }
}

/** True until a process has ended. */
export function isAlive(pid: number): boolean {
  const state = /\) (\S) /.exec(stat(pid))?.[1];
  return state !== undefined && state !== "Z";
}

function stat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return "";
  }
}

/** The process that answers on a connection of this driver. */
export async function processOf(driver: Driver): Promise<number> {
  const { message } = await driver.call("SendMessage", say("which process"), resuming());
  const answer = (message?.message as JsonObject | undefined)?.parts as { text?: string }[] | undefined;
  return Number(answer?.[0]?.text);
}

/** Resolves when new connections reach this many processes. */
export async function reaches(connect: () => Driver, count: number): Promise<Set<number>> {
  for (;;) {
    const found = new Set<number>();
    for (let tries = 0; tries < 2 * count; tries++) {
      const driver = connect();
      found.add(await processOf(driver).catch(() => 0));
      driver.close();
    }
    found.delete(0);
    if (found.size >= count) return found;
    await sleep(100);
  }
}
