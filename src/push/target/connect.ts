import type { buildConnector as Connectors } from "undici";
import buildConnector from "undici/lib/core/connect.js";
import type { TargetTls } from "../options.js";
import type { ForbiddenTarget, TargetGuard } from "./guard.js";

/** Time for a connection to a receiver in milliseconds: look-up, TCP and TLS. */
export const pushConnect = { timeoutMs: 5_000 } as const;

/** How long one address of several is tried before the next one, in milliseconds. */
const ATTEMPT_MS = 1_000;

/**
 * Connects sockets to where the guard lets them, and to nothing else: names through its look-up, addresses (which have no look-up)
 * before, and each socket by the address that it got in the end. A connection is only ever used for the host that it was
 * made for, and the rules do not change, so that a request on one that is open needs no other judgement.
 */
export function guardedConnector(guard: TargetGuard, tls: TargetTls): Connectors.connector {
  const { ca, cert, key } = tls;
  const given = Object.entries({ ca, cert, key }).filter(([, value]) => value !== undefined);
  const connect = buildConnector({
    ...Object.fromEntries(given),
    lookup: guard.lookup,
    timeout: pushConnect.timeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    minVersion: "TLSv1.2",
    // Said here, as the environment may say otherwise.
    rejectUnauthorized: true,
    allowH2: false,
  });
  return (options, callback) => {
    try {
      guard.admit(options.hostname);
    } catch (error) {
      // Not before the caller has its answer, which is that nothing has happened yet.
      queueMicrotask(() => callback(error as Error, null));
      return;
    }
    connect(options, (...[error, socket]) => {
      // With an error there is no socket: undefined, whatever the types say.
      if (error !== null) return callback(error, null);
      const fault = faultOf(guard, options.hostname, socket.remoteAddress);
      if (fault === undefined) callback(null, socket);
      else {
        socket.destroy();
        callback(fault, null);
      }
    });
  };
}

function faultOf(guard: TargetGuard, name: string, address: string | undefined): Error | undefined {
  // It was closed meanwhile, which its user finds out.
  if (address === undefined) return undefined;
  try {
    guard.judge(address, name);
    return undefined;
  } catch (error) {
    return error as ForbiddenTarget;
  }
}
