import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { notYet } from "./not-yet.js";

/** Reads, follows and ends tasks of all owners. */
export function taskOperations(
  _parts: AdminParts,
): Pick<
  AdminMethods,
  "listTasks" | "getTask" | "listEntries" | "followTask" | "followTasks" | "cancelTask" | "failTask" | "deleteTask"
> {
  return {
    listTasks: notYet,
    getTask: notYet,
    listEntries: notYet,
    followTask: notYet,
    followTasks: notYet,
    cancelTask: notYet,
    failTask: notYet,
    deleteTask: notYet,
  };
}
