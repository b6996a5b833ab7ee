// The tests that every store has to pass.

import { appendContract } from "./append.js";
import { censusContract } from "./census.js";
import { closeContract } from "./close.js";
import { conversationContract } from "./conversations.js";
import { deliveryContract } from "./deliveries.js";
import { deliveryClaimsContract } from "./delivery-claims.js";
import { deliveryListsContract } from "./delivery-lists.js";
import { leaseContract } from "./leases.js";
import { listContract } from "./list.js";
import { modelContract } from "./model.js";
import { operatorContract } from "./operators.js";
import { pagingContract } from "./paging.js";
import { pushBytesContract, pushContract } from "./push.js";
import { pushModelContract } from "./push-model.js";
import { readContract } from "./read.js";
import { interruptedContract, retentionContract } from "./retention.js";
import { sendContract } from "./send.js";
import type { StoreContract } from "./setup.js";

export type { StoreContract } from "./setup.js";

/**
 * Test suite that every store has to pass. The caller passes in the test runner and the property-testing library, so
 * that the package depends on neither.
 *
 * ```ts
 * import * as fc from "fast-check";
 * import * as vitest from "vitest";
 *
 * storeContract({ name: "my store", open: () => myStore(), suite: vitest, fc });
 * ```
 */
export function storeContract(contract: StoreContract): void {
  contract.suite.describe(`${contract.name} keeps the contract of stores`, () => {
    appendContract(contract);
    sendContract(contract);
    conversationContract(contract);
    readContract(contract);
    listContract(contract);
    pagingContract(contract);
    interruptedContract(contract);
    leaseContract(contract);
    pushContract(contract);
    pushBytesContract(contract);
    deliveryContract(contract);
    deliveryClaimsContract(contract);
    deliveryListsContract(contract);
    retentionContract(contract);
    operatorContract(contract);
    censusContract(contract);
    closeContract(contract);
    modelContract(contract);
    pushModelContract(contract);
  });
}
