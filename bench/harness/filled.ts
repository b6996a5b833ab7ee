import { Child, type TestServer } from "./child.js";
import type { Bench } from "./scenario.js";

/**
 * Kind of the tasks of a file: finished, cut off by a crash, finished and owned by a named owner, or finished in one context
 * (`context`).
 */
export type Filling = "finished" | "cut off" | "of somebody else" | "of one context";

/** A new file with so many tasks, `FILLED_TASK` from number 0 on. */
export async function filledFile(bench: Bench, count: number, kind: Filling = "finished"): Promise<string> {
  const path = bench.database();
  const { child } = await Child.start("servers/fill.js", [path, String(count), kind]);
  await child.end();
  return path;
}

/** A server on such a file, of an agent of tasks or of another kind. */
export async function filledServer(bench: Bench, count: number, kind?: Filling, agent = "task"): Promise<TestServer> {
  return bench.start("parley", agent, await filledFile(bench, count, kind));
}
