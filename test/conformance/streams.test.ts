import { cover } from "../support/cover.js";
import { runTable } from "./run.js";
import { streamTable } from "./tables.js";
import { traits } from "./traits.js";

runTable(streamTable, { choose: (table) => cover(table, traits) });
