import { nameOf } from "../tasks/filter.js";

/** Names in the address of a page. */
interface NamedSearch {
  readonly tenant?: string | undefined;
  readonly owner?: string | undefined;
}

/** Returns the filter of the service for the names in an address, where `""` is the empty name. */
export function namedFilter({ tenant, owner }: NamedSearch): { readonly tenant?: string; readonly owner?: string } {
  return {
    ...(tenant !== undefined && { tenant: nameOf(tenant) }),
    ...(owner !== undefined && { owner: nameOf(owner) }),
  };
}
