import type { Interceptor } from "@connectrpc/connect";
import type { Candidate } from "../../client/discovery/interfaces.js";
import { clientError, isCut, neverArrived } from "../../client/errors/errors.js";
import { comparableHost } from "../../client/hosts.js";
import { mapStream } from "../../core/map-stream.js";
import { isLoopback } from "../../core/net.js";
import { failureOf } from "./failures.js";
import type { Scope } from "./scope.js";

/**
 * Reports broken streams, and ends the run if the first call reaches no interface. Later calls may be retried, because
 * the agent was reachable before.
 *
 * @param count number of interfaces; the client tries each once
 */
export function firstContact(context: Scope, count: number): Interceptor {
  let isReached = false;
  let failures = 0;
  const reached = <T>(value: T): T => {
    isReached = true;
    return value;
  };
  const failed = (error: unknown): unknown => {
    if (isReached || context.signal.aborted) return error;
    const isAway = neverArrived(clientError(error));
    if (isAway && ++failures < count) return error;
    if (isAway) context.end(failureOf(clientError(error), context));
    isReached = true;
    return error;
  };
  const cut = (error: unknown): unknown => {
    if (!context.signal.aborted && isCut(clientError(error))) context.noteCut();
    return failed(error);
  };
  return (next) => async (request) => {
    try {
      const response = await next(request);
      return response.stream
        ? { ...response, message: mapStream(response.message, { item: reached, failed: cut }) }
        : reached(response);
    } catch (error) {
      throw request.stream ? cut(error) : failed(error);
    }
  };
}

/** The interface of a run, and those that may replace it while it cannot be reached. */
export interface InterfaceChoice {
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
  return isEncrypted && (!hasSecrets || comparableHost(other.url) === comparableHost(chosen.url));
}
