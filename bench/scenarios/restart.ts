/** A process that finds what a crash cut off: when it answers, and when all of it is in order again. */
import { setTimeout } from "node:timers/promises";
import { restSend } from "../calls.js";
import { judge } from "../goals.js";
import type { TestServer } from "../harness/child.js";
import { filledFile } from "../harness/filled.js";
import { median } from "../harness/rates.js";
import type { Bench, Scenario } from "../harness/scenario.js";
import { RESULT_TEXT } from "../servers/answers.js";

interface Found {
  readonly answerMs: number;
  readonly recoveredMs: number;
}

async function once(bench: Bench, count: number): Promise<Found> {
  const file = await filledFile(bench, count, "cut off");
  const start = performance.now();
  const server = await bench.start("parley", "task", file);
  await bench.load.answer(restSend(server, "task", RESULT_TEXT));
  const answerMs = performance.now() - start;
  while ((await working(server)) > 0) await setTimeout(50);
  const recoveredMs = performance.now() - start;
  await server.end();
  return { answerMs, recoveredMs };
}

/** Returns the number of tasks that no process has taken over yet. */
async function working({ at }: TestServer): Promise<number> {
  const url = `http://127.0.0.1:${at.http}${at.restPath}/tasks?status=TASK_STATE_WORKING&pageSize=1`;
  const answer = await fetch(url, { headers: { "a2a-version": "1.0" } });
  const { totalSize } = (await answer.json()) as { totalSize?: number };
  if (totalSize === undefined) throw new Error("the list says no total");
  return totalSize;
}

export const restart: Scenario = {
  name: "restart",
  async run(bench) {
    const { quick } = bench.options;
    const count = quick ? 10_000 : 100_000;
    const rounds: Found[] = [];
    for (let round = 0; round < (quick ? 1 : 3); round++) rounds.push(await once(bench, count));
    const answerMs = median(rounds.map((found) => found.answerMs));
    const recoveredMs = median(rounds.map((found) => found.recoveredMs));
    const perSecond = (count / recoveredMs) * 1_000;
    const name = `Parley, file of ${count.toLocaleString("en")} tasks that were cut off`;
    const figures = { "ms to first answer": answerMs, "ms to all in order": recoveredMs, "tasks/s": perSecond };
    const targets = [judge("restartAnswer", answerMs), judge("restartRate", perSecond)];
    return { title: "Restart of a process after a crash", rows: [{ name, figures, targets }] };
  },
};
