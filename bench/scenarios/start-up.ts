/** From the start of a process to its first answer, the file in the system's cache. Information, without a goal. */
import { restSend } from "../calls.js";
import { filledFile } from "../harness/filled.js";
import { median } from "../harness/rates.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import { REPLY_TEXT, RESULT_TEXT } from "../servers/answers.js";

/** Milliseconds of one start. */
async function once(bench: Bench, program: string, args: readonly string[], expect: string): Promise<number> {
  const start = performance.now();
  const server = await bench.start(program, ...args);
  await bench.load.answer(restSend(server, "task", expect));
  const ms = performance.now() - start;
  await server.end();
  return ms;
}

export const startUp: Scenario = {
  name: "start-up",
  async run(bench) {
    const { quick } = bench.options;
    const count = quick ? 10_000 : 100_000;
    const file = await filledFile(bench, count);
    const lanes: readonly (readonly [name: string, start: () => Promise<number>])[] = [
      ["node:http, codec", () => once(bench, "bare-http", ["codec"], REPLY_TEXT)],
      ["Parley, in memory", () => once(bench, "parley", ["task", "memory"], RESULT_TEXT)],
      ["Parley, new file", () => once(bench, "parley", ["task", bench.database()], RESULT_TEXT)],
      [`Parley, file of ${count.toLocaleString("en")} tasks`, () => once(bench, "parley", ["task", file], RESULT_TEXT)],
    ];
    const times = lanes.map((): number[] => []);
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      for (const [index, [, start]] of lanes.entries()) times[index]?.push(await start());
    }
    const rows = lanes.map(
      ([name], index): Row => ({ name, figures: { "ms to first answer": median(times[index] ?? []) } }),
    );
    return { title: "Start of a process to its first answer", rows };
  },
};
