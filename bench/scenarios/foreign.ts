/** Times of answers about a task of another owner and about one that does not exist. A difference would reveal the task. */
import { rpcGet } from "../calls.js";
import { filledServer } from "../harness/filled.js";
import { Rates } from "../harness/rates.js";
import type { Scenario } from "../harness/scenario.js";
import { FILLED_TASK } from "../protocol.js";

const COUNT = 10_000;
const NONE = "GetTask of one that does not exist";
const THEIRS = "GetTask of one of somebody else";

export const foreign: Scenario = {
  name: "foreign",
  async run(bench) {
    const server = await filledServer(bench, COUNT, "of somebody else");
    const expected = { expect: "TASK_NOT_FOUND", numbersBelow: COUNT };
    const rates = await Rates.measure(bench, [
      { name: NONE, server, call: rpcGet(server, FILLED_TASK.replace("-8000-", "-8001-"), expected) },
      { name: THEIRS, server, call: rpcGet(server, FILLED_TASK, expected) },
    ]);
    const column = "of none";
    return {
      title: "Tasks that a caller may not see, over JSON-RPC, SQLite",
      rows: [rates.row(NONE, NONE, { column }), rates.row(THEIRS, NONE, { column, goal: "foreignTask" })],
    };
  },
};
