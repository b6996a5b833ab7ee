import { withoutSecrets } from "../core/net.js";
import { isAddress } from "../store/postgres/address.js";
import { UsageError } from "./usage-error.js";

/** True for a text that looks like the address of a database: the login in it must not be shown as part of a path. */
export function isAnyAddress(store: string): boolean {
  return /^\s*[a-z][a-z\d+.-]*:\/\//i.test(store);
}

/**
 * Rejects the address of another kind of database, and one with a mistake, which would count as the path of a file.
 * @throws UsageError
 */
export function checkAddress(name: string, store: string): void {
  if (!isAnyAddress(store) || isAddress(store)) return;
  throw new UsageError(`${name}: ${withoutSecrets(store)} is not an address that begins with postgres://, and no file`);
}
