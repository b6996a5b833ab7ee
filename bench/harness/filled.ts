import { Child, type TestServer } from "./child.js";
import type { Bench } from "./scenario.js";

/** What the tasks of a file are: finished ones, such as a crash cut off, or finished ones of an owner that has a name. */
export type Filling = "finished" | "cut off" | "of somebody else";

/** A new file with so many tasks, `FILLED_TASK` from number 0 on. */
export async function filledFile(bench: Bench, count: number, kind: Filling = "finished"): Promise<string> {
  const path = bench.database();
  const { child } = await Child.start("servers/fill.js", [path, String(count), kind]);
  await child.end();
  return path;
}

/** A server of tasks on such a file. */
export async function filledServer(bench: Bench, count: number, kind?: Filling): Promise<TestServer> {
  return bench.start("parley", "task", await filledFile(bench, count, kind));
}
