import { execFile } from "node:child_process";
import type { Logger } from "../core/log.js";

/** State of a service, as systemd names it (sd_notify(3)). */
type ServiceState = "READY=1" | "RELOADING=1" | "STOPPING=1";

/** Time for systemd-notify to deliver a state, in milliseconds. */
const NOTIFY_MS = 5_000;

/**
 * Reports a state to systemd if it asks for that (`NOTIFY_SOCKET`, which units of `Type=notify` have). The program
 * `systemd-notify` sends it, because Node.js has no datagram sockets of the Unix domain. Never rejects: without the report
 * systemd ends the start by its own timeout.
 */
export function notifySystemd(state: ServiceState, logger: Logger): Promise<void> {
  if (process.env.NOTIFY_SOCKET === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    execFile("systemd-notify", [state], { timeout: NOTIFY_MS }, (err) => {
      if (err !== null) logger.warn({ err, state }, "systemd was not notified: systemd-notify failed");
      resolve();
    });
  });
}
