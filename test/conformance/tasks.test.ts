import { cover } from "../support/cover.js";
import { runTable } from "./run.js";
import { taskTable } from "./tables.js";
import { traits } from "./traits.js";

runTable(taskTable, { choose: (table) => cover(table, traits) });
