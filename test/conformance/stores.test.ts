import { bindingOf } from "../support/drivers.js";
import { runTable } from "./run.js";
import { storeTable } from "./tables.js";

// The store is independent of the binding, so one binding is enough.
runTable(storeTable, { on: [bindingOf("jsonrpc")], store: "sqlite" });
