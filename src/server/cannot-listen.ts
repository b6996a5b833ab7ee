import { ConfigurationError } from "../card/faults.js";

/** The error of a port that could not be opened, with the usual reasons in words. */
export function cannotListen(
  error: NodeJS.ErrnoException,
  { host, port, option }: { host: string; port: number; option: string },
): ConfigurationError {
  const known: Record<string, string> = {
    EADDRINUSE: `port ${port} on ${host} is already in use; choose another one with ${option}`,
    EACCES: `port ${port} on ${host} needs permissions that this process does not have`,
    EADDRNOTAVAIL: `${host} is not an address of this machine`,
    ENOTFOUND: `the host ${host} is not known`,
  };
  return new ConfigurationError("Cannot listen", [known[error.code ?? ""] ?? error.message], error);
}
