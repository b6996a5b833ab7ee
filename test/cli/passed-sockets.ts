import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { renameSync } from "node:fs";
import * as net from "node:net";

/** A socket that this process listens on until a child takes it over. */
export interface PassedSocket {
  readonly fd: number;
  /** 0 for a Unix socket. */
  readonly port: number;
  /** Closes the socket here. Children that were started with it keep it. */
  release(): void;
}

/** Opens a socket on a free port, or at the path of a Unix socket. */
export async function openSocket(path?: string): Promise<PassedSocket> {
  const server = net.createServer();
  // The closing server would remove the file of a Unix socket, so the file is renamed first.
  server.listen(path === undefined ? { port: 0, host: "127.0.0.1" } : { path: `${path}.new` });
  await once(server, "listening");
  if (path !== undefined) renameSync(`${path}.new`, path);
  const address = server.address() as net.AddressInfo | string;
  const { _handle: handle } = server as unknown as { _handle: { fd: number } };
  return {
    fd: handle.fd,
    port: typeof address === "string" ? 0 : address.port,
    release: () => void server.close(),
  };
}

/** Starts the command as systemd does: `LISTEN_PID` is its own id, and its sockets begin at descriptor 3. */
const started = 'LISTEN_PID=$$ exec "$@"';

/** Restarts the command whenever it ends, and prints the id of each process. */
const supervisor = `
trap 'kill $child; wait $child; exit 0' TERM
while :; do
  sh -c '${started}' sh "$@" &
  child=$!
  echo "pid $child" >&2
  wait $child
done`;

interface Passing {
  readonly sockets: readonly PassedSocket[];
  readonly names?: string;
  readonly cwd: string;
  /** Restarts the command whenever it ends. Default false. */
  readonly again?: boolean;
}

/** Starts a command as systemd starts a service with sockets. */
export function startWith(command: readonly string[], { sockets, names, cwd, again = false }: Passing): ChildProcess {
  const env = {
    PATH: process.env.PATH ?? "",
    LISTEN_FDS: String(sockets.length),
    ...(names !== undefined && { LISTEN_FDNAMES: names }),
  };
  const stdio = ["ignore", "pipe", "pipe", ...sockets.map(({ fd }) => fd)] as const;
  return spawn("sh", ["-c", again ? supervisor : started, "sh", ...command], { cwd, env, stdio: [...stdio] });
}
