import { A2AError } from "../../core/error.js";

/** Rejects a call of a method without an implementation. */
export function notYet(): never {
  throw new A2AError("METHOD_NOT_FOUND", "This method is not implemented yet.");
}
