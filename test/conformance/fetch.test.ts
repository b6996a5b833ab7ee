import { fetchBindings } from "../support/drivers.js";
import { runTable } from "./run.js";
import { ruleTable, streamTable, taskTable } from "./tables.js";

runTable([...taskTable, ...streamTable, ...ruleTable], { on: fetchBindings });
