import { A2AError } from "../../core/error.js";
import type { NodeServerRequest } from "./types.js";

/**
 * Returns the error for a body in a transfer coding that Node.js leaves to its reader, such as `gzip, chunked` (RFC
 * 9112, 6.1).
 */
export function codingFault({ headers }: NodeServerRequest): A2AError | undefined {
  const coding = headers["transfer-encoding"];
  if (coding === undefined || coding === "chunked" || /^[\s,]*chunked[\s,]*$/i.test(coding)) return undefined;
  return new A2AError("INVALID_REQUEST", "The transfer coding of the body is not supported; only chunked is.");
}
