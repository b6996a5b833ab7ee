import { A2AError, type Reason } from "../../core/error.js";
import { errorDetails } from "../../wire/error-details.js";
import type { RequestId } from "../../wire/jsonrpc-envelope.js";

/** Codes of errors, by their reason. */
export type ErrorCodes = Readonly<Partial<Record<Reason, number>>>;

/** Codes that 0.3 does not have: what they say is that the operation is not supported. */
export const codes: ErrorCodes = { EXTENSION_SUPPORT_REQUIRED: -32004, VERSION_NOT_SUPPORTED: -32004 };

/** Statuses of HTTP+JSON that differ from those of 1.0. The documents of 0.3 have none; these are what its servers answered. */
export const statuses: Readonly<Partial<Record<Reason, number>>> = {
  TASK_NOT_CANCELABLE: 409,
  CONTENT_TYPE_NOT_SUPPORTED: 415,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: 404,
};

/** An error as JSON-RPC has it, and HTTP+JSON as well. */
export function errorObject(error: A2AError, table: ErrorCodes = codes): object {
  return { code: table[error.reason] ?? error.row.jsonrpc, message: error.message, data: errorDetails(error) };
}

/** In the words of a caller over JSON-RPC. */
const inWords = (text: string): string => text.replace(/\bROLE_USER\b/g, "user");

/** An error of a request, in its caller's words. All others are as they were. */
function reworded(error: A2AError): A2AError {
  const { reason, message, metadata, violations } = error;
  const said = inWords(message);
  if (reason !== "INVALID_PARAMS" || said === message) return error;
  const renamed = violations.map(({ field, description }) => ({ field, description: inWords(description) }));
  return new A2AError(reason, said, { metadata, violations: renamed });
}

/** The response object of a call that failed. */
export const errorIn =
  (table: ErrorCodes) =>
  (id: RequestId, error: A2AError): string =>
    JSON.stringify({ jsonrpc: "2.0", id, error: errorObject(reworded(error), table) });
