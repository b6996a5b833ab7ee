import { fetchBindings } from "../support/drivers.js";
import { sample } from "../support/soak.js";
import { runTable } from "./run.js";
import { ruleTable, streamTable, taskTable } from "./tables.js";
import { traits } from "./traits.js";

// `fetch` is a host and not a binding, so a sample is enough. The other files of tables run each case over each
// binding.
runTable([...taskTable, ...streamTable, ...ruleTable], {
  on: fetchBindings,
  choose: (table) => sample(table, traits),
});
