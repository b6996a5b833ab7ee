import { chmodSync, lstatSync, type Stats, unlinkSync } from "node:fs";
import { connect, type Server } from "node:net";
import { isMainThread } from "node:worker_threads";

/**
 * Removes the file of a Unix socket whose process has ended, so that another one can listen there.
 *
 * @throws Error for a socket that a process listens on, and for a file that is not a socket
 */
export async function removeStaleSocket(path: string): Promise<void> {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined) return;
  if (!before.isSocket()) throw new Error(`${path} is not a socket`);
  if (await isAlive(path)) throw new Error(`another process listens on ${path}`);
  const now = lstatSync(path, { throwIfNoEntry: false });
  // Another process that starts at the same time may have replaced it.
  if (now !== undefined && isSameFile(before, now)) unlinkSync(path);
}

function isSameFile(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.ctimeMs === other.ctimeMs;
}

/** True unless the system reports that no process listens. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED" && code !== "ENOENT"));
  });
}

/** Begins to listen on a Unix socket that only the user of this process may open. */
export function listenPrivately(server: Server, path: string, listening: () => void): void {
  // Node.js creates the file within `listen`. Threads other than the first one cannot set the mask.
  const before = isMainThread ? process.umask(0o177) : undefined;
  try {
    server.listen({ path }, listening);
  } finally {
    if (before !== undefined) process.umask(before);
  }
  if (before === undefined) server.once("listening", () => chmodSync(path, 0o600));
}
