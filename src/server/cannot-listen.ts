import { ConfigurationError } from "../card/faults.js";

/** Returns the error of a port that could not be opened, with usual reasons as text. */
export function cannotListen(
  error: NodeJS.ErrnoException,
  { host, port, fd, option }: { host: string; port: number; fd?: number | undefined; option: string },
): ConfigurationError {
  if (fd !== undefined) {
    const fault = `the descriptor ${fd} is not a socket that listens: ${error.message}`;
    return new ConfigurationError("Cannot listen", [fault], error);
  }
  const known: Record<string, string> = {
    EADDRINUSE: `port ${port} on ${host} is already in use; choose another one with ${option}`,
    EACCES: `port ${port} on ${host} needs permissions that this process does not have`,
    EADDRNOTAVAIL: `${host} is not an address of this machine`,
    ENOTFOUND: `the host ${host} is not known`,
    ENOTSUP: "this system cannot share a port (--reuse-port)",
  };
  return new ConfigurationError("Cannot listen", [known[error.code ?? ""] ?? error.message], error);
}
