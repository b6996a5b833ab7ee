import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { notYet } from "./not-yet.js";

/** Reads and repeats push notifications. */
export function deliveryOperations(
  _parts: AdminParts,
): Pick<
  AdminMethods,
  "listDeliveries" | "listAttempts" | "redriveDeliveries" | "sendTestEvent" | "resendEvent" | "deletePushConfig"
> {
  return {
    listDeliveries: notYet,
    listAttempts: notYet,
    redriveDeliveries: notYet,
    sendTestEvent: notYet,
    resendEvent: notYet,
    deletePushConfig: notYet,
  };
}
