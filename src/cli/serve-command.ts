import { accessSync, constants } from "node:fs";
import { setFlagsFromString } from "node:v8";
import type { AdminOptions } from "../admin/options.js";
import { defaultLimits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import { attempt } from "../core/members.js";
import { withoutSecrets } from "../core/net.js";
import { given as optionsGiven } from "../core/options.js";
import { openServer, type Server } from "../server/create-server.js";
import { storeClose } from "../server/lifecycle.js";
import { commandWarnings } from "../server/option-warnings.js";
import type { Settings, UncheckedOptions } from "../server/options.js";
import { versionsToName } from "../server/public-tenants.js";
import { resolveOptions } from "../server/resolve-options.js";
import type { TlsPaths } from "../server/tls-reload.js";
import type { Signals } from "../signals/signals.js";
import { memoryStore } from "../store/memory/index.js";
import { isAddress, shownAddress } from "../store/postgres/address.js";
import { sqliteDriver, useDriver } from "../store/sqlite/driver/choose.js";
import { sqliteStore } from "../store/sqlite/index.js";
import type { WriterAnswer, WriterRequest } from "../store/sqlite/writer-protocol.js";
import type { AppendRequest, TaskStore } from "../store/task-store.js";
import { limitsOfWorker } from "../workers/limits.js";
import { WORKER_VARIABLE } from "../workers/messages.js";
import { Worker } from "../workers/worker.js";
import { loadAgentModule } from "./agent-module.js";
import { AuditFile } from "./audit-file.js";
import { greeting } from "./banner.js";
import { cardSigningOf } from "./card-key-files.js";
import { UsageError, usageErrorOf } from "./command-error.js";
import { defaultCommandOptions, type LogLevel } from "./command-options.js";
import { endOnSignals, exitProcess, noteUnexpectedEnd, onHangUp, RESTART_CODE } from "./exit.js";
import { type Given, unknownVariables } from "./flags.js";
import { createLog, isPretty } from "./log.js";
import { pushOf } from "./push-options.js";
import { inheritedSockets } from "./socket-activation.js";
import { checkAddress } from "./store-address.js";
import { notifySystemd } from "./systemd.js";

/** Parts of `serve` that another command replaces. */
export interface ServeParts {
  readonly log: (level: LogLevel) => Logger;
  /** Called with each request for an append that the store has carried out. */
  readonly onAppend: (request: AppendRequest) => void;
  readonly greet: (server: Server, settings: Settings) => void;
}

/** Serves the agents of a module until it is asked to end. */
export async function serve(path: string, given: Given, parts?: ServeParts): Promise<void> {
  const command = { ...defaultCommandOptions, ...given.command };
  const worker = workerOf(process);
  if (command.workers > 1 && worker === undefined) {
    if (parts !== undefined) throw new UsageError("--workers is for parley serve: parley dev has one process");
    return (await import("./serve-workers.js")).serveByWorkers(command);
  }
  await serveHere(path, given, { parts, worker });
}

async function serveHere(
  path: string,
  given: Given,
  { parts, worker }: { readonly parts: ServeParts | undefined; readonly worker: Worker | undefined },
): Promise<void> {
  const command = { ...defaultCommandOptions, ...given.command };
  const logger = parts?.log(command.logLevel) ?? (await createLog(command.logLevel, command.logFormat));
  let reload = (): unknown => undefined;
  onHangUp(() => {
    logger.info({ signal: "SIGHUP" }, "asked to read its files again");
    reload();
  });
  endOnUncaught(logger);
  // V8's default, which main.ts lowered for the start.
  setFlagsFromString("--semi-space-growth-factor=2");
  // Taken before the module is loaded, which may start processes.
  const sockets = { ...inheritedSockets(process.env, process.pid), ...worker?.role.sockets };
  const module = await loadAgentModule(path);
  for (const warning of [...unknownVariables(process.env), ...module.warnings]) logger.warn({}, warning);
  const accessLog = isPretty(command.logFormat, process.stderr);
  const { audit: to = "off" } = command;
  const auditFile = to === "off" ? undefined : new AuditFile(to, logger);
  reload = () => auditFile?.reopen();
  const audit = auditFile ?? (command.audit !== "off" && !accessLog);
  const options = {
    accessLog,
    logger,
    audit,
    ...optionsOf(module.options, given, logger),
    ...(command.audit !== undefined && { audit }),
    ...(Object.keys(sockets).length > 0 && { sockets }),
  };
  const openStore = storeOf(options.store, given, { logger, worker });
  Object.assign(options, await signalsOf(options, given, logger));
  if (worker !== undefined) checkForWorkers(options);
  // Invalid agents or options must neither create nor lock a file.
  const settings = workerSettings(settingsOf(options, logger), worker);
  const store = await openStore();
  noteAppends(store, parts?.onAppend);
  await carrySignals(store, worker);
  noteUnexpectedEnd(store);
  let server: Server | undefined;
  // Installed only after the store is open. Opening it blocks this thread, without end on a hanging disk; until then
  // the default action of a signal ends the process.
  endOnSignals(
    () => latestEnd(options),
    (signal) => endBy(signal, server, logger),
  );
  server = await openOrClose({ ...settings, store });
  const withTlsFiles = options.tls !== undefined && "keyFile" in options.tls ? server : undefined;
  reload = () => reloadFiles(logger, auditFile, withTlsFiles);
  restartOnFailure(server, logger);
  const replaced = { code: 0, drainDelayMs: Math.max(settings.drainDelayMs, REPLACE_MS) };
  const serving = server;
  worker?.obey({ reload: () => reload(), replace: () => void close(serving, logger, replaced) });
  const names = { agents: Object.keys(options.agents ?? {}), store: shownStore(options.store, command.store) };
  if (worker === undefined || worker.role.number === 1) (parts?.greet ?? greet)(server, settings, names);
  worker?.ready(latestEnd(options) + REPLACE_MS);
  await notifySystemd("READY=1", logger);
}

async function openOrClose(settings: Settings): Promise<Server> {
  try {
    return await openServer(settings);
  } catch (error) {
    await settings.store.close().catch(() => {});
    throw error;
  }
}

async function endBy(signal: NodeJS.Signals, server: Server | undefined, logger: Logger): Promise<never> {
  void notifySystemd("STOPPING=1", logger);
  logger.info({ signal, ...(server && { running: server.running }) }, `asked to end${waitsFor(server, signal)}`);
  // If the server is still starting, tasks are left as after a crash; the next start recovers them.
  return server === undefined ? exitProcess(0, signal) : close(server, logger, { code: 0, signal });
}

function endOnUncaught(logger: Logger): void {
  process.on("uncaughtException", (error) => {
    logger.error({ err: error }, "an uncaught error ends the process");
    void exitProcess(1);
  });
}

/** @throws UsageError for options that need one process */
function checkForWorkers({ console }: Partial<UncheckedOptions>): void {
  if (console === undefined || console === false) return;
  throw new UsageError("--console needs one process: with --workers, run parley console beside the server");
}

function noteAppends(store: TaskStore, onAppend: ServeParts["onAppend"] | undefined): void {
  if (onAppend === undefined) return;
  const append = store.append.bind(store);
  store.append = async (request) => {
    const result = await append(request);
    onAppend(request);
    return result;
  };
}

function greet(
  { url, grpcAddress, adminUrl, consoleUrl, card }: Server,
  settings: Settings,
  names: { readonly agents: readonly string[]; readonly store: string },
): void {
  const { publicUrl } = settings;
  process.stdout.write(
    greeting({ url, grpcAddress, adminUrl, consoleUrl, card, publicUrl, ...names, ...versionsToName(settings) }),
  );
}

function settingsOf(options: Partial<UncheckedOptions>, logger: Logger): Settings {
  const settings = resolveOptions({ ...options, store: options.store ?? memoryStore() });
  for (const warning of commandWarnings(settings)) logger.warn({}, warning);
  return settings;
}

/** Returns the link of a process that a primary process has started; undefined for any other. */
function workerOf(process: NodeJS.Process): Worker | undefined {
  const role = process.env[WORKER_VARIABLE];
  // The variable must not reach processes that the agent starts.
  delete process.env[WORKER_VARIABLE];
  return role === undefined || process.send === undefined ? undefined : new Worker(JSON.parse(role), process);
}

/** Carries signals between workers if their store has no signals of its own. */
async function carrySignals(store: TaskStore, worker: Worker | undefined): Promise<void> {
  if (worker === undefined || store.signals !== undefined) return;
  const { SignalHub } = await import("../signals/hub.js");
  const { workerCarrier } = await import("../workers/carrier.js");
  Object.assign(store, { signals: new SignalHub(workerCarrier(worker)) });
}

/** Gives a worker its share of the limits, and its link to the others. */
function workerSettings(settings: Settings, worker: Worker | undefined): Settings {
  if (worker === undefined) return settings;
  return { ...settings, limits: limitsOfWorker(settings.limits, worker.role.count), worker };
}

/**
 * Opens the audit file again, and reloads the TLS files of a server that has some. The server logs faults of the files
 * itself.
 */
async function reloadFiles(
  logger: Logger,
  auditFile: AuditFile | undefined,
  server: Server | undefined,
): Promise<void> {
  await notifySystemd("RELOADING=1", logger);
  auditFile?.reopen();
  try {
    server?.reloadTls();
  } catch (error) {
    logger.debug({ err: error }, "the TLS files were not reloaded");
  }
  await notifySystemd("READY=1", logger);
}

/** Returns text for the log: the number of tasks that an orderly shutdown waits for, and how to end at once. */
function waitsFor(server: Server | undefined, signal: NodeJS.Signals): string {
  const running = server?.running ?? 0;
  const key = signal === "SIGINT" ? "Ctrl-C" : "the signal";
  const tasks = running === 1 ? "1 task is" : `${running} tasks are`;
  return running === 0 ? "" : `: ${tasks} running; ${key} again ends it now`;
}

/**
 * Minimum time for which a replaced worker still answers calls on its connections, in milliseconds. Active clients
 * learn in that time that the connection ends.
 */
const REPLACE_MS = 2_000;

/** Time that a shutdown may take beyond its own limits, in milliseconds. */
const END_MS = 5_000;

function latestEnd({ limits = {}, drainDelayMs = 0 }: Partial<UncheckedOptions>): number {
  const { shutdownGraceMs, cancelGraceMs } = { ...defaultLimits, ...limits };
  return drainDelayMs + shutdownGraceMs + Math.max(cancelGraceMs, storeClose.timeoutMs) + END_MS;
}

/** Ends the server with the exit code for a restart, when only a restart may help its store. */
function restartOnFailure(server: Server, logger: Logger): void {
  const { failureSignal } = server;
  failureSignal.addEventListener("abort", () => {
    logger.error({ err: failureSignal.reason }, "the server ends, to be started again");
    void close(server, logger, { code: RESTART_CODE, graceMs: 0 });
  });
}

interface Close {
  /** Exit code of an orderly end. */
  readonly code: number;
  /** The signal that kills the process when something hangs. */
  readonly signal?: NodeJS.Signals;
  readonly graceMs?: number;
  readonly drainDelayMs?: number;
}

async function close(server: Server, logger: Logger, { code, signal, ...times }: Close): Promise<never> {
  try {
    await server.close(times);
  } catch (error) {
    logger.error({ err: error }, "the server did not end in order");
    return exitProcess(code === 0 ? 1 : code, signal);
  }
  return exitProcess(code, signal);
}

function shownStore(own: TaskStore | undefined, store: string): string {
  if (own !== undefined) return "the store of the module";
  return isAddress(store) ? shownAddress(store) : store;
}

/** Opens the store that the module exports, or the one that the command line names. */
function storeOf(
  own: TaskStore | undefined,
  { command }: Given,
  { logger, worker }: { readonly logger: Logger; readonly worker: Worker | undefined },
): () => TaskStore | Promise<TaskStore> {
  const { store: path, shared, migrate } = { ...defaultCommandOptions, ...command };
  if (own !== undefined) {
    if (worker !== undefined && !own.shared)
      throw new UsageError("--workers needs a store that processes share: --store");
    if (command.store === undefined && !shared && command.migrate === undefined) return () => own;
    throw new UsageError("the module exports a store of its own: omit --store, --shared and --migrate");
  }
  if (/^postgres(ql)?:/.test(path)) {
    if (shared) throw new UsageError("--shared is for SQLite files: servers share a PostgreSQL database without it");
    return async () => (await import("../store/postgres/index.js")).postgresStore({ url: path, migrate, logger });
  }
  checkAddress("--store", path);
  if (command.sqliteDriver !== undefined) useDriver(command.sqliteDriver);
  if (path !== "memory") {
    return async () => {
      // Loaded on use, because few servers need this code.
      if (migrate === "check") (await import("../store/sqlite/schema-check.js")).checkCurrent(path);
      return worker === undefined ? sqliteStore({ path, shared, logger }) : workerStoreOf(worker, path, shared, logger);
    };
  }
  if (shared) throw new UsageError("--shared needs a file: a store in memory (--store memory) cannot be shared");
  return memoryStore;
}

/** Opens a file that another process writes for all workers. */
async function workerStoreOf(worker: Worker, path: string, shared: boolean, logger: Logger): Promise<TaskStore> {
  const { workerStore } = await import("../store/sqlite/worker-store.js");
  const request: WriterRequest = { path, synchronous: "FULL", shared, driver: sqliteDriver().name };
  return workerStore((await worker.storeWriter(request)) as WriterAnswer, request, logger);
}

/** Returns the signals that the command line names. */
async function signalsOf(
  { signals: own }: Partial<UncheckedOptions>,
  { command: { signals: url } }: Given,
  logger: Logger,
): Promise<{ readonly signals?: Signals }> {
  if (url === undefined) return {};
  const { isNatsAddress, natsSignals } = await import("../signals/nats/index.js");
  if (own !== undefined) throw new UsageError("the module exports signals of its own: omit --signals");
  if (isNatsAddress(url)) return { signals: await natsSignals({ url, logger }) };
  throw new UsageError(`--signals ${withoutSecrets(url)} is not an address such as nats://user:password@host:4222`);
}

/** Returns the options of the module, overridden by those of the command line and the environment. */
function optionsOf(module: Partial<UncheckedOptions>, given: Given, logger: Logger): Partial<UncheckedOptions> {
  const { tlsCert, tlsKey, tlsCa } = given.command;
  if ((tlsCert === undefined) !== (tlsKey === undefined) || (tlsCa !== undefined && tlsCert === undefined)) {
    throw new UsageError("TLS needs both --tls-cert and --tls-key");
  }
  const files = (certFile: string, keyFile: string): TlsPaths => {
    return { certFile: readable(certFile), keyFile: readable(keyFile), ...(tlsCa && { caFile: readable(tlsCa) }) };
  };
  const tls = tlsCert !== undefined && tlsKey !== undefined && { tls: files(tlsCert, tlsKey) };
  const options = { ...module, ...given.server, ...tls };
  const admin = adminOf(module.admin, given.command);
  if (admin !== undefined) options.admin = admin;
  const warn = (warning: string): void => logger.warn({}, warning);
  const cardSigning = cardSigningOf(module.cardSigning, given.command, warn);
  if (cardSigning !== undefined) options.cardSigning = cardSigning;
  // `--push` keeps the module's push options.
  const push = pushOf(given.server.push === true ? module.push || true : options.push, given.command, warn);
  if (push !== undefined) options.push = push;
  if (Object.keys(given.limits).length > 0) options.limits = { ...module.limits, ...given.limits };
  return options;
}

/** Returns the module's options of the operator's service, overridden by the command line. */
function adminOf(
  module: AdminOptions | undefined,
  { admin: listen, adminTokens: tokensFile, adminBackups: backupFolder }: Given["command"],
): AdminOptions | undefined {
  const own = { listen, tokensFile, backupFolder };
  if (Object.values(own).every((value) => value === undefined)) return module;
  if (listen === undefined && module?.listen === undefined) {
    throw new UsageError("--admin-tokens and --admin-backups need --admin");
  }
  return { ...module, ...optionsGiven(own) };
}

function readable(file: string): string {
  attempt(() => accessSync(file, constants.R_OK), usageErrorOf(`cannot read ${file}: `));
  return file;
}
