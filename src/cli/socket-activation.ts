import type { Sockets } from "../server/options.js";
import { UsageError } from "./command-error.js";

/** The first descriptor that systemd passes (SD_LISTEN_FDS_START). */
const FIRST = 3;

const purposes = ["http", "grpc"] as const;

/**
 * Returns the open sockets that systemd or a similar program has passed to this process (sd_listen_fds(3)), by their
 * names in `LISTEN_FDNAMES`. A single socket needs no name: it is the one of HTTP. Removes the variables, which must not
 * reach other processes.
 *
 * @throws UsageError for sockets whose purpose is not clear.
 */
export function inheritedSockets(environment: NodeJS.ProcessEnv, pid: number): Sockets {
  const { LISTEN_PID, LISTEN_FDS = "", LISTEN_FDNAMES = "" } = environment;
  for (const name of ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]) delete environment[name];
  // The variables of a parent process are not for this one.
  if (LISTEN_PID !== String(pid)) return {};
  const count = /^\d{1,4}$/.test(LISTEN_FDS) ? Number(LISTEN_FDS) : 0;
  const names = LISTEN_FDNAMES.split(":");
  const sockets: { -readonly [K in keyof Sockets]: Sockets[K] } = {};
  for (let at = 0; at < count; at++) {
    const name = names[at] ?? "";
    const purpose = purposes.find((each) => each === name) ?? (count === 1 ? "http" : undefined);
    if (purpose === undefined) {
      throw new UsageError(
        `a socket of LISTEN_FDS is named "${name}": with several, set FileDescriptorName= to ${purposes.join(" or ")}`,
      );
    }
    if (sockets[purpose] !== undefined) throw new UsageError(`LISTEN_FDS has two sockets named ${purpose}`);
    sockets[purpose] = FIRST + at;
  }
  return sockets;
}
