// The tests that every store has to pass.

import { appendContract } from "./contract/append.js";
import { closeContract } from "./contract/close.js";
import { deliveryContract } from "./contract/deliveries.js";
import { deliveryClaimsContract } from "./contract/delivery-claims.js";
import { interruptedContract } from "./contract/interrupted.js";
import { leaseContract } from "./contract/leases.js";
import { listContract } from "./contract/list.js";
import { modelContract } from "./contract/model.js";
import { pagingContract } from "./contract/paging.js";
import { pushContract } from "./contract/push.js";
import { pushBytesContract } from "./contract/push-bytes.js";
import { pushModelContract } from "./contract/push-model.js";
import { readContract } from "./contract/read.js";
import { retentionContract } from "./contract/retention.js";
import { sendContract } from "./contract/send.js";
import type { StoreContract } from "./contract/setup.js";

export type { StoreContract } from "./contract/setup.js";

/**
 * Test suite that every store has to pass. It takes the test runner and the library for properties from its caller, so
 * that nothing of either is needed where stores are only used.
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
    readContract(contract);
    listContract(contract);
    pagingContract(contract);
    interruptedContract(contract);
    leaseContract(contract);
    pushContract(contract);
    pushBytesContract(contract);
    deliveryContract(contract);
    deliveryClaimsContract(contract);
    retentionContract(contract);
    closeContract(contract);
    modelContract(contract);
    pushModelContract(contract);
  });
}
