import type { Candidate } from "../../client/discovery/interfaces.js";
import { hostOf } from "../../client/hosts.js";
import { isLoopback } from "../../core/net.js";

/** The interface of a run, and those that may replace it while it cannot be reached. */
export interface Ways {
  readonly chosen: Candidate;
  readonly others?: readonly Candidate[];
}

/** Returns the other interfaces of the same tenant. @param transports those that the caller allows; empty for all */
export function replacementsOf(
  all: readonly Candidate[],
  chosen: Candidate,
  transports: readonly string[],
): readonly Candidate[] {
  return all.filter(
    ({ binding, url, declared: { tenant } }) =>
      url !== chosen.url &&
      tenant === chosen.declared.tenant &&
      (transports.length === 0 || transports.includes(binding)),
  );
}

/** True if calls may go by another interface: with credentials only on the same host, and encrypted like the chosen one. */
export function mayReplace(other: Candidate, chosen: Candidate, hasSecrets: boolean): boolean {
  const isEncrypted = other.url.startsWith("https:") || isLoopback(other.url) || !chosen.url.startsWith("https:");
  return isEncrypted && (!hasSecrets || hostOf(other.url) === hostOf(chosen.url));
}
