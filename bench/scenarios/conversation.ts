/** An agent that reads the newest messages of its conversation, in contexts of few and of many tasks. */
import { restSend } from "../calls.js";
import { filledServer } from "../harness/filled.js";
import { type Lane, Rates } from "../harness/rates.js";
import type { Scenario } from "../harness/scenario.js";

const SERIES = "messages({ limit: 20 })";
const FEW = 10;

const nameOf = (count: number): string => `${SERIES}, of ${count.toLocaleString("en")} tasks`;

export const conversation: Scenario = {
  name: "conversation",
  async run(bench) {
    const counts = [FEW, bench.options.quick ? 1_000 : 10_000];
    const lanes: Lane[] = [];
    for (const count of counts) {
      const server = await filledServer(bench, count, "of one context", "conversation");
      // Its answers are not stored: the context keeps its size.
      lanes.push({ name: nameOf(count), server, call: restSend(server, "more", "read 20", "context") });
    }
    const rates = await Rates.measure(bench, lanes);
    const rows = counts.map((count) => {
      const goal = count === FEW ? {} : ({ slowerGoal: "conversationGrowth" } as const);
      const row = rates.row(nameOf(count), nameOf(FEW), { column: `of ${FEW}`, ...goal });
      return { ...row, series: SERIES, at: count };
    });
    return { title: "Replies of an agent that reads its conversation, REST, SQLite, by tasks of the context", rows };
  },
};
