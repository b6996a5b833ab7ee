import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { notYet } from "./not-yet.js";

/** Exports and imports tasks. */
export function transferOperations(_parts: AdminParts): Pick<AdminMethods, "exportTask" | "importTask"> {
  return {
    exportTask: notYet,
    importTask: notYet,
  };
}
