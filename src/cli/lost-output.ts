/**
 * Prevents failed output (a full disk, a closed terminal or pipe) from ending the process: an error event without a
 * listener throws, and logging it fails again. For stdout, which carries a command's result, the command fails, unless
 * its reader closed the pipe.
 */
export function noteLostOutput(): void {
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    process.exitCode = 1;
    process.stderr.write(`parley: stdout: ${error.message}\n`);
  });
}
