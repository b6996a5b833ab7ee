import type { buildConnector as Connectors } from "undici";
import buildConnector from "undici/lib/core/connect.js";

/** Time for one of several addresses before the next is tried, in milliseconds. */
const ATTEMPT_MS = 1_000;

/** Returns options for `node:tls`. Certificates are verified even if the environment disables that. */
export function tlsOptions(
  { ca, cert, key }: { readonly ca?: unknown; readonly cert?: unknown; readonly key?: unknown },
  rejectUnauthorized = true,
): Record<string, unknown> {
  const given = Object.entries({ ca, cert, key }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), minVersion: "TLSv1.2", rejectUnauthorized };
}

/** Returns what opens the sockets of HTTP/1.1. */
export function connectorOf(options: Connectors.BuildOptions): Connectors.connector {
  const attempts = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ATTEMPT_MS };
  return buildConnector({ ...options, ...attempts, allowH2: false });
}
