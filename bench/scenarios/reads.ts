/** Reading one task and a page of tasks, and sending new ones, with few and with many tasks in the file. */
import { restGet, restSend } from "../calls.js";
import { isCompletedTask } from "../checks.js";
import type { TestServer } from "../harness/child.js";
import { filledServer } from "../harness/filled.js";
import { type Lane, Rates, type RowOptions } from "../harness/rates.js";
import type { Row, Scenario } from "../harness/scenario.js";
import { FILLED_TASK } from "../protocol.js";
import { RESULT_TEXT } from "../servers/answers.js";

interface Filled {
  readonly count: number;
  readonly server: TestServer;
}

/** Measured calls, each a series over the number of stored tasks. */
const CALLS: Readonly<Record<string, (filled: Filled) => Pick<Lane, "call" | "check">>> = {
  GetTask: ({ server, count }) => ({
    call: restGet(server, `/tasks/${FILLED_TASK}`, { expect: RESULT_TEXT, numbersBelow: count }),
  }),
  "ListTasks, 50": ({ server, count }) => ({
    call: restGet(server, "/tasks?pageSize=50", { expect: `"totalSize":${count}` }),
  }),
  "new task": ({ server }) => ({ call: restSend(server, "task", RESULT_TEXT), check: isCompletedTask }),
};

const GOALS: Readonly<Record<string, RowOptions["slowerGoal"]>> = {
  GetTask: "getTaskGrowth",
  "ListTasks, 50": "listTasksGrowth",
};

export const reads: Scenario = {
  name: "reads",
  async run(bench) {
    const [few, many] = bench.options.quick ? [1_000, 10_000] : [1_000, 100_000];
    const files: Filled[] = [];
    for (const count of [few, many]) files.push({ count, server: await filledServer(bench, count) });
    const nameOf = (series: string, count: number): string => `${series}, of ${count.toLocaleString("en")}`;
    const rows: Row[] = [];
    // One after the other, sends last: they add to what the reads count.
    for (const [series, lane] of Object.entries(CALLS)) {
      const lanes = files.map((file) => ({ name: nameOf(series, file.count), server: file.server, ...lane(file) }));
      const rates = await Rates.measure(bench, lanes);
      for (const { count } of files) {
        const goal = count === few ? undefined : GOALS[series];
        const column = `of ${few.toLocaleString("en")}`;
        const judged = { column, ...(goal === undefined ? {} : { slowerGoal: goal }) };
        rows.push({ ...rates.row(nameOf(series, count), nameOf(series, few), judged), series, at: count });
      }
    }
    return { title: "Reads and new tasks over REST, SQLite, by tasks stored", rows };
  },
};
