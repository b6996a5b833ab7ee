/** Memory of a server that has finished many tasks, which the file remembers and the process should not. */
import { rpcSend } from "../calls.js";
import { judge } from "../goals.js";
import { CALLERS, MB, type Row, type Scenario } from "../harness/scenario.js";
import { RESULT_TEXT } from "../servers/answers.js";

const FULL = [1_000, 10_000, 25_000, 50_000, 100_000];
const QUICK = [500, 1_000, 5_000];

/** Number of tasks that larger numbers are compared with. */
const base = (isQuick: boolean): number => (isQuick ? 1_000 : 10_000);

export const memory: Scenario = {
  name: "memory",
  async run(bench) {
    const { quick } = bench.options;
    const server = await bench.start("parley", "task", bench.database());
    const call = rpcSend(server, "task", RESULT_TEXT);
    const counts = quick ? QUICK : FULL;
    const rows: Row[] = [];
    let [finished, rssBefore] = [0, Number.NaN];
    for (const count of counts) {
      const result = await bench.load.run({ kind: "rate", call, callers: CALLERS, calls: count - finished });
      finished += result.calls;
      const { rss, heap, external } = await server.usage(true);
      if (count === base(quick)) rssBefore = rss;
      const ratio = rss / rssBefore;
      const column = `x RSS of ${base(quick).toLocaleString("en")}`;
      const figures = { "MB RSS": rss / MB, [column]: ratio, "MB heap": heap / MB, "MB external": external / MB };
      const name = `after ${count.toLocaleString("en")} tasks`;
      const targets = count === counts.at(-1) ? { targets: [judge("finishedMemory", ratio)] } : {};
      rows.push({ name, series: "RSS", at: count, figures, ...targets });
    }
    return { title: "Memory after finished tasks, SQLite, settled", rows };
  },
};
