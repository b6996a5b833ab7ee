import { runTable } from "./run.js";
import { ruleTable } from "./tables.js";

runTable(ruleTable);
