import { runRaw } from "./raw/run-raw.js";
import { rawTables } from "./tables.js";

for (const [name, cases] of Object.entries(rawTables)) runRaw(name, cases);
