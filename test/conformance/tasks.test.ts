import { runTable } from "./run.js";
import { taskTable } from "./tables.js";

runTable(taskTable);
