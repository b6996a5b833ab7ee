import { cancelCases } from "./cases/cancel.js";
import { historyCases } from "./cases/history.js";
import { idempotencyCases } from "./cases/idempotency.js";
import { listCases } from "./cases/list.js";
import { resultCases } from "./cases/results.js";
import { sendCases } from "./cases/send.js";
import { runTable } from "./run.js";

runTable([...sendCases, ...resultCases, ...historyCases, ...listCases, ...cancelCases, ...idempotencyCases]);
