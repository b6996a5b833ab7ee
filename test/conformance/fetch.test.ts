import { cover } from "../support/cover.js";
import { fetchBindings } from "../support/drivers.js";
import { runTable } from "./run.js";
import { ruleTable, streamTable, taskTable } from "./tables.js";
import { traits } from "./traits.js";

runTable([...taskTable, ...streamTable, ...ruleTable], {
  on: fetchBindings,
  choose: (table) => cover(table, traits),
});
