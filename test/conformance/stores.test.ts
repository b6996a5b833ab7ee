import { bindingOf } from "../support/drivers.js";
import { cancelCases } from "./cases/cancel.js";
import { historyCases } from "./cases/history.js";
import { idempotencyCases } from "./cases/idempotency.js";
import { listCases } from "./cases/list.js";
import { resumeCases } from "./cases/resume.js";
import { sendCases } from "./cases/send.js";
import { streamCases } from "./cases/stream.js";
import { subscribeCases } from "./cases/subscribe.js";
import { runTable } from "./run.js";

// Where tasks are kept makes no difference to any binding, so one of them is enough.
runTable(
  [
    ...sendCases,
    ...historyCases,
    ...listCases,
    ...cancelCases,
    ...idempotencyCases,
    ...streamCases,
    ...subscribeCases,
    ...resumeCases,
  ],
  { on: [bindingOf("jsonrpc")], store: "sqlite" },
);
