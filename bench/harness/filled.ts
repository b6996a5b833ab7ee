import { Child, type TestServer } from "./child.js";
import type { Bench } from "./scenario.js";

/** A new file with so many tasks, `task-00000000` and on: finished ones, or such as a crash cut off. */
export async function filledFile(
  bench: Bench,
  count: number,
  kind: "finished" | "cut off" = "finished",
): Promise<string> {
  const path = bench.database();
  const { child } = await Child.start("servers/fill.js", [path, String(count), kind]);
  await child.end();
  return path;
}

/** A server of tasks on such a file. */
export async function filledServer(bench: Bench, count: number): Promise<TestServer> {
  return bench.start("parley", "task", await filledFile(bench, count));
}
