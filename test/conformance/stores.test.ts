import { bindingOf } from "../support/drivers.js";
import { runTable } from "./run.js";
import { storeTable } from "./tables.js";

// Where tasks are kept makes no difference to any binding, so one of them is enough.
runTable(storeTable, { on: [bindingOf("jsonrpc")], store: "sqlite" });
