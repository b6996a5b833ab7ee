import { fork } from "node:child_process";
import { startWriterProcess } from "../store/sqlite/start-writer-process.js";
import { WORKER_VARIABLE } from "../workers/messages.js";
import { Primary } from "../workers/primary.js";
import { UsageError } from "./command-error.js";
import type { CommandOptions } from "./command-options.js";
import { endOnSignals, exitProcess, onHangUp, RESTART_CODE } from "./exit.js";
import { createLog } from "./log.js";
import { inheritedSockets } from "./socket-activation.js";
import { notifySystemd } from "./systemd.js";

/** The signal that replaces all workers in turn. */
const REPLACE_SIGNAL = "SIGUSR2";

/** Serves with several processes that run the same command line. This process accepts their connections. */
export async function serveByWorkers(
  command: Pick<CommandOptions, "workers" | "store" | "logLevel" | "logFormat">,
): Promise<void> {
  const { workers: count, store } = command;
  if (store === "memory") {
    throw new UsageError("--workers needs a store that processes share: a file or PostgreSQL, and not --store memory");
  }
  const logger = await createLog(command.logLevel, command.logFormat);
  const sockets = inheritedSockets(process.env, process.pid);
  // Workers report to this process, which reports to systemd.
  const { NOTIFY_SOCKET: _, ...env } = process.env;
  const [, main = "", ...words] = process.argv;
  const primary = new Primary({
    count,
    sockets,
    logger,
    restartCode: RESTART_CODE,
    forkWriter: startWriterProcess,
    fork: (role) => fork(main, words, { env: { ...env, [WORKER_VARIABLE]: JSON.stringify(role) } }),
  });
  onHangUp(async () => {
    await notifySystemd("RELOADING=1", logger);
    primary.reload();
    await notifySystemd("READY=1", logger);
  });
  process.on(REPLACE_SIGNAL, async () => {
    await notifySystemd("RELOADING=1", logger);
    await primary.replaceAll();
    await notifySystemd("READY=1", logger);
  });
  endOnSignals(
    () => primary.latestMs,
    async (signal) => {
      void notifySystemd("STOPPING=1", logger);
      logger.info({ signal }, "asked to end: shutting down the workers");
      return exitProcess(await primary.end(signal), signal);
    },
  );
  primary.onFailure((code) => void exitProcess(code));
  const code = await primary.start();
  if (code !== undefined) return exitProcess(code);
  logger.info({ workers: count }, "the workers share the ports");
  await notifySystemd("READY=1", logger);
}
