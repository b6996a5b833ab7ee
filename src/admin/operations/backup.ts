import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { notYet } from "./not-yet.js";

/** Backs up the store. */
export function backupOperation(_parts: AdminParts): Pick<AdminMethods, "createBackup"> {
  return {
    createBackup: notYet,
  };
}
