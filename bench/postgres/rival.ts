import { fork } from "node:child_process";
import { join } from "node:path";
import { keepTrack } from "../harness/child.js";
import type { BenchDatabase } from "./database.js";

/** Durable work by another library, all in one process: callers and worker. */
export interface Worked {
  readonly perSecond: number;
  /** CPU time of the process for one unit, in microseconds. */
  readonly nodeMicros: number;
  /** CPU time of all processes of the database for one unit, in microseconds. */
  readonly databaseMicros: number;
}

interface Report {
  readonly count: number;
  readonly ms: number;
  readonly cpuMicros: number;
}

/** Runs a program of `bench/rivals` on a database of its own, for so many milliseconds. */
export async function ofRival(database: BenchDatabase, program: string, callers: number, ms: number): Promise<Worked> {
  database.psql(`CREATE DATABASE ${program}`);
  const url = database.url.replace("/postgres?", `/${program}?`);
  const path = join(import.meta.dirname, "..", "rivals", `${program}.mjs`);
  const child = keepTrack(fork(path, [url, `${ms}`, `${callers}`], { stdio: ["ignore", "ignore", "inherit", "ipc"] }));
  let before = Number.NaN;
  return new Promise((resolve, reject) => {
    child.on("message", (message: "begin" | Report) => {
      if (message === "begin") before = database.cpuMicros();
      else {
        const { count, ms: took, cpuMicros } = message;
        const databaseMicros = (database.cpuMicros() - before) / count;
        resolve({ perSecond: (count * 1_000) / took, nodeMicros: cpuMicros / count, databaseMicros });
      }
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${program} ended by itself (${code})`)));
  });
}
