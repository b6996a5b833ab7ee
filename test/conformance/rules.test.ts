import { cover } from "../support/cover.js";
import { runTable } from "./run.js";
import { ruleTable } from "./tables.js";
import { traits } from "./traits.js";

runTable(ruleTable, { choose: (table) => cover(table, traits) });
