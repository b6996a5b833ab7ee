import { membersOf } from "../../core/members.js";
import { storeErrorOf } from "../errors.js";
import { StoreError, type StoreErrorKind } from "../task-store.js";

/**
 * Error code of a race between appends, raised by the function of appends. The caller then repeats its appends one by
 * one.
 */
export const RACE = "PA001";

export const DISK_FULL = "53100";

/** Codes after which the whole statement was undone, and may succeed if it is repeated: a deadlock, a serialization. */
const UNDONE: ReadonlySet<string> = new Set(["40P01", "40001", RACE]);

/** The code of an error of PostgreSQL or of a socket; empty if it has none. */
export function codeOf(thrown: unknown): string {
  const { code } = membersOf(thrown);
  return typeof code === "string" ? code : "";
}

/** True for an error that rolled back the whole statement. A retry may succeed. */
export function isUndone(thrown: unknown): boolean {
  return UNDONE.has(codeOf(thrown));
}

/**
 * Converts any error of PostgreSQL or of its connection to a StoreError, with the original as its cause. Codes:
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export function toStoreError(thrown: unknown, doing: string): StoreError {
  return storeErrorOf(thrown, doing, codeOf(thrown), kindOf);
}

/** Codes of a refused login: unknown role or method, wrong password, unknown database. */
const REFUSED: ReadonlySet<string> = new Set(["28000", "28P01", "3D000"]);

/** Converts the error of a first connection. A refused login then means a wrong address, not an outage. */
export function toOpeningError(thrown: unknown, doing: string): StoreError {
  const error = toStoreError(thrown, doing);
  if (error.kind !== "unavailable" || !REFUSED.has(codeOf(error.cause))) return error;
  return new StoreError("failed", `${error.message}. Check role, password and database of the address.`, {
    cause: error.cause,
  });
}

function kindOf(code: string): StoreErrorKind {
  // Damaged data and indexes.
  if (/^XX00[12]$/.test(code)) return "damaged";
  return isOutage(code) ? "unavailable" : "failed";
}

/**
 * True for an error of the server or of the connection, independent of the statement. An error without a code comes from
 * the connection: it ended, or an answer took too long.
 */
export function isOutage(code: string): boolean {
  // Connection, resources, shutdown of the server, error of its system, a server that became read-only, an unfinished
  // rollback, a failed login, and codes of sockets and of TLS, such as ECONNRESET and CERT_HAS_EXPIRED.
  return (
    code === "" ||
    /^(08|53|57|58|40|28|3D|25006|55P03|XX)/.test(code) ||
    /^(?!ERR_INVALID_URL)(E[A-Z]+|[A-Z]+_[A-Z0-9_]+)$/.test(code)
  );
}
