import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { notYet } from "./not-yet.js";

/** Lists conversations of all owners. */
export function contextOperations(_parts: AdminParts): Pick<AdminMethods, "listContexts"> {
  return {
    listContexts: notYet,
  };
}
