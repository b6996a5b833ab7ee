/** Memory of a server that has finished many tasks, which the file remembers and the process should not. */
import { rpcSend } from "../calls.js";
import { CALLERS, type Row, type Scenario } from "../harness/scenario.js";
import { RESULT_TEXT } from "../servers/answers.js";

const MB = 1024 * 1024;

export const memory: Scenario = {
  name: "memory",
  async run(bench) {
    const server = await bench.start("parley", "task", bench.database());
    const call = rpcSend(server, "task", RESULT_TEXT);
    const rows: Row[] = [];
    let finished = 0;
    for (const count of bench.options.quick ? [1_000, 5_000] : [10_000, 100_000]) {
      const result = await bench.load.run({ kind: "rate", call, callers: CALLERS, calls: count - finished });
      finished += result.calls;
      const { rss, heap } = await server.usage(true);
      const figures = { "MB RSS": rss / MB, "MB heap": heap / MB, "tasks/s": (result.calls * 1_000) / result.ms };
      rows.push({ name: `after ${count.toLocaleString("en")} tasks`, figures });
    }
    return { title: "Memory after finished tasks, SQLite", rows };
  },
};
