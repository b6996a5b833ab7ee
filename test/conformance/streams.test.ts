import { runTable } from "./run.js";
import { streamTable } from "./tables.js";

runTable(streamTable);
