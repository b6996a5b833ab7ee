import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { notYet } from "./not-yet.js";

/** Reads and changes the state of the server. */
export function serverOperations(
  _parts: AdminParts,
): Pick<AdminMethods, "getServer" | "listExecutions" | "listLimits" | "setLogLevel" | "drain"> {
  return {
    getServer: notYet,
    listExecutions: notYet,
    listLimits: notYet,
    setLogLevel: notYet,
    drain: notYet,
  };
}
