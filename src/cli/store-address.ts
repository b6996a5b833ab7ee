import { withoutSecrets } from "../core/net.js";
import { isAddress } from "../store/postgres/address.js";
import { UsageError } from "./command-error.js";

/** True for a text that looks like the address of a database. Its login must not be shown as part of a path. */
export function isAnyAddress(store: string): boolean {
  return /^\s*[a-z][a-z\d+.-]*:\/\//i.test(store);
}

/**
 * Rejects an address of an unsupported database and a malformed address. Either would otherwise count as a file path.
 * @throws UsageError
 */
export function checkAddress(name: string, store: string): void {
  if (!isAnyAddress(store) || isAddress(store)) return;
  throw new UsageError(`${name}: ${withoutSecrets(store)} is neither a postgres:// address nor a file`);
}
