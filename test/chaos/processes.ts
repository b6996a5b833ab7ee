/** Signals a process, which may have ended meanwhile. */
export function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has.
  }
}
