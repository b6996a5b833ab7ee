/**
 * Keeps output that fails (a full disk, a terminal that is gone, a reader that has ended) from ending the process: an error that nobody
 * listens to is thrown, and whoever logs what was thrown fails at it again. What a command has to say on stdout is its result: it
 * has failed when that is lost, unless its reader wanted no more.
 */
export function noteLostOutput(): void {
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    process.exitCode = 1;
    process.stderr.write(`parley: stdout: ${error.message}\n`);
  });
}
