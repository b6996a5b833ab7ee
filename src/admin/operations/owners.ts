import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { notYet } from "./not-yet.js";

/** Lists owners and deletes all that one has. */
export function ownerOperations(_parts: AdminParts): Pick<AdminMethods, "listOwners" | "deleteOwner"> {
  return {
    listOwners: notYet,
    deleteOwner: notYet,
  };
}
