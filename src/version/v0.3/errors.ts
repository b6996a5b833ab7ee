import { type A2AError, type Reason, restated } from "../../core/error.js";
import { errorDetails } from "../../wire/error-details.js";
import type { RequestId } from "../../wire/jsonrpc-envelope.js";

/** Codes of errors, by their reason. */
export type ErrorCodes = Readonly<Partial<Record<Reason, number>>>;

/** Codes that 0.3 lacks: reported as an unsupported operation. */
export const codes: ErrorCodes = { EXTENSION_SUPPORT_REQUIRED: -32004, VERSION_NOT_SUPPORTED: -32004 };

/** HTTP statuses that differ from those of 1.0. The documents of 0.3 define none; its servers used these. */
export const statuses: Readonly<Partial<Record<Reason, number>>> = {
  TASK_NOT_CANCELABLE: 409,
  CONTENT_TYPE_NOT_SUPPORTED: 415,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: 404,
};

interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

/** Returns the error object of JSON-RPC. */
export function errorObject(error: A2AError, table: ErrorCodes = codes): ErrorObject {
  return { code: table[error.reason] ?? error.row.jsonrpc, message: error.message, data: errorDetails(error) };
}

/** Names of these codes in the Java library of 0.3. */
const classes: ReadonlyMap<number, string> = new Map([
  [-32001, "TaskNotFound"],
  [-32002, "TaskNotCancelable"],
  [-32003, "PushNotificationNotSupported"],
  [-32004, "UnsupportedOperation"],
  [-32005, "ContentTypeNotSupported"],
  [-32006, "InvalidAgentResponse"],
  [-32007, "AuthenticatedExtendedCardNotConfigured"],
  [-32700, "JSONParse"],
  [-32600, "InvalidRequest"],
  [-32601, "MethodNotFound"],
  [-32602, "InvalidParams"],
  [-32603, "Internal"],
]);

/**
 * Returns the body of an HTTP+JSON error, which the documents of 0.3 do not define. The JavaScript library reads
 * `code`, Python's the status, and Java's requires a class name in `error`.
 */
export function errorBody(error: A2AError): string {
  const { code, message, data } = errorObject(error);
  const name = classes.get(code);
  return JSON.stringify({ code, error: name === undefined ? error.reason : `io.a2a.spec.${name}Error`, message, data });
}

/** Replaces names of 1.0 by those of the JSON-RPC form. */
const inWords = (text: string): string => text.replace(/\bROLE_USER\b/g, "user");

/** Rewords the error of a request. Other errors are unchanged. */
function reworded(error: A2AError): A2AError {
  const { reason, message, violations } = error;
  const inPlainWords = inWords(message);
  if (reason !== "INVALID_PARAMS" || inPlainWords === message) return error;
  const renamed = violations.map(({ field, description }) => ({ field, description: inWords(description) }));
  return restated(error, { message: inPlainWords, violations: renamed });
}

/** Returns the writer of a failed call's response object. */
export const errorIn =
  (table: ErrorCodes) =>
  (id: RequestId, error: A2AError): string =>
    JSON.stringify({ jsonrpc: "2.0", id, error: errorObject(reworded(error), table) });

/**
 * Errors with other codes than documented, or over some bindings without codes, in published libraries of 0.3 and 0.2,
 * recognised by their texts.
 */
export const texts: readonly (readonly [RegExp, Reason])[] = [
  [/push notifications? (?:is|are) not supported/i, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  [/\b(?:not cancell?able|cannot be cancell?ed)\b/i, "TASK_NOT_CANCELABLE"],
  [/\bin (?:a )?terminal state\b/i, "UNSUPPORTED_OPERATION"],
  [/^(?:\w+: )?method not found/i, "METHOD_NOT_FOUND"],
  [/authenticated (?:extended )?card/i, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"],
];
