import { connectCases } from "./raw/connect-cases.js";
import { jsonBodyCases } from "./raw/json-body-cases.js";
import { jsonRpcCases } from "./raw/jsonrpc-cases.js";
import { restCases } from "./raw/rest-cases.js";
import { runRaw } from "./raw/run-raw.js";

runRaw("jsonrpc", jsonRpcCases);
runRaw("rest", restCases);
runRaw("connect", connectCases);
for (const [binding, cases] of Object.entries(jsonBodyCases)) runRaw(`JSON over ${binding}`, cases);
