/** Reading one task and a page of tasks, with few and with many tasks in the file. */
import { restGet } from "../calls.js";
import { Child, type TestServer } from "../harness/child.js";
import { type Lane, Rates } from "../harness/rates.js";
import type { Bench, Scenario } from "../harness/scenario.js";
import { NUMBER } from "../protocol.js";
import { RESULT_TEXT } from "../servers/answers.js";

async function filled(bench: Bench, count: number): Promise<TestServer> {
  const path = bench.database();
  const { child } = await Child.start("servers/fill.js", [path, String(count)]);
  await child.end();
  return bench.start("parley", "task", path);
}

export const reads: Scenario = {
  name: "reads",
  async run(bench) {
    const counts = bench.options.quick ? [1_000, 10_000] : [1_000, 100_000];
    const lanes: Lane[] = [];
    for (const count of counts) {
      const server = await filled(bench, count);
      const of = `of ${count.toLocaleString("en")}`;
      const one = restGet(server, `/tasks/task-${NUMBER}`, { expect: RESULT_TEXT, numbersBelow: count });
      const page = restGet(server, "/tasks?pageSize=50", { expect: `"totalSize":${count}` });
      lanes.push({ name: `GetTask ${of}`, server, call: one }, { name: `ListTasks, 50 ${of}`, server, call: page });
    }
    const rates = await Rates.measure(bench, lanes);
    const [oneOfFew = "", pageOfFew = "", oneOfMany = "", pageOfMany = ""] = lanes.map(({ name }) => name);
    const column = `of ${counts[0]?.toLocaleString("en")}`;
    return {
      title: "Reads over REST, SQLite",
      rows: [
        rates.row(oneOfFew, oneOfFew, { column }),
        rates.row(oneOfMany, oneOfFew, { column }),
        rates.row(pageOfFew, pageOfFew, { column }),
        rates.row(pageOfMany, pageOfFew, { column }),
      ],
    };
  },
};
