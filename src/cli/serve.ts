import { readFileSync } from "node:fs";
import { setLogger } from "@grpc/grpc-js";
import { type Command, InvalidArgumentError, Option } from "commander";
import { destination, pino } from "pino";
import { defaultLimits } from "../core/limits.js";
import { createServer, type Server } from "../server/create-server.js";
import type { ServerOptions } from "../server/options.js";
import type { CardGrpc } from "../server/public-address.js";
import { memoryStore } from "../store/memory/index.js";
import { useDriver } from "../store/sqlite/driver/choose.js";
import type { DriverName } from "../store/sqlite/driver/driver.js";
import { sqliteStore } from "../store/sqlite/index.js";
import type { TaskStore } from "../store/task-store.js";
import { loadAgents } from "./agent-module.js";
import { leave, noteUnexpectedEnd, RESTART_CODE } from "./ending.js";
import { greeting } from "./greeting.js";
import { endOnSignals } from "./signals.js";
import { UsageError } from "./usage-error.js";

/** What the command line and the environment say. */
interface ServeFlags {
  readonly port: number;
  readonly grpcPort: number | false;
  readonly host: string;
  readonly store: string;
  readonly sqliteDriver?: DriverName;
  readonly shared?: boolean;
  readonly idempotentMessageIds?: boolean;
  readonly publicUrl?: string;
  readonly grpcPublicUrl?: string;
  readonly cardGrpc?: CardGrpc;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly cors?: string | true;
  readonly allowedHosts?: string;
  readonly trustProxy?: string | true;
  readonly retentionMs?: number;
  readonly leaseMs?: number;
  readonly graceMs?: number;
  readonly logLevel: string;
}

/** Adds `serve`. Every option has an environment variable: PARLEY_ and its name in capitals. */
export function addServe(program: Command): void {
  const option = (flags: string, description: string): Option => {
    const made = new Option(flags, description);
    const variable = `PARLEY_${made.name().toUpperCase().replaceAll("-", "_")}`;
    const off = made.isBoolean() && process.env[variable] !== undefined && !isOn(variable);
    return off ? made : made.env(variable);
  };
  program
    .command("serve")
    .description("serve the agents of a module over every binding")
    .argument("<module>", 'module that exports an agent as "default" or "agent", or several by tenant as "agents"')
    .addOption(option("--port <number>", "HTTP port, 0 for any free one").argParser(portNumber).default(8080))
    .addOption(option("--grpc-port <number>", "gRPC port, or off").argParser(portOrOff).default(50051))
    .addOption(option("--host <address>", "address to listen on, 0.0.0.0 for all").default("127.0.0.1"))
    .addOption(option("--store <file>", "SQLite file that keeps the tasks; memory forgets them").default("parley.db"))
    .addOption(
      option("--sqlite-driver <name>", "where SQLite comes from; without it Node.js itself, from 22.13 on").choices(
        drivers,
      ),
    )
    .addOption(option("--shared", "let other servers have the file open too, all of them with this option"))
    .addOption(option("--idempotent-message-ids", "take a message that comes again, by its id, for the same one"))
    .addOption(option("--public-url <url>", "URL under which clients reach the HTTP port"))
    .addOption(option("--grpc-public-url <host:port>", "address under which clients reach gRPC"))
    .addOption(
      option("--card-grpc <how>", "how cards name gRPC: by its address, by the URL of the HTTP port, or not")
        .choices(["address", "url", "omit"])
        .default("address"),
    )
    .addOption(option("--tls-cert <file>", "certificate chain (PEM), for TLS on both ports"))
    .addOption(option("--tls-key <file>", "its private key (PEM)"))
    .addOption(option("--cors [origins]", "origins whose scripts may call, with commas between; every one without"))
    .addOption(option("--allowed-hosts <names>", "hosts that requests may name, with commas between; * for every one"))
    .addOption(option("--trust-proxy [networks]", "proxies whose Forwarded headers to believe; every peer without"))
    .addOption(
      option("--retention-ms <number>", "how long finished tasks are kept; for ever without").argParser(millis),
    )
    .addOption(
      option(
        "--lease-ms <number>",
        "when servers that share a file take over each other's tasks after a crash",
      ).argParser(millis),
    )
    .addOption(option("--grace-ms <number>", "what running work gets to end when it is stopped").argParser(millis))
    .addOption(option("--log-level <level>", "level of the log on stderr").choices(levels).default("info"))
    .action(serve);
}

const drivers: readonly DriverName[] = ["node:sqlite", "better-sqlite3"];

const levels = ["debug", "info", "warn", "error", "silent"];

async function serve(module: string, flags: ServeFlags): Promise<void> {
  const logger = pino({ level: flags.logLevel }, destination({ dest: 2, sync: true }));
  // What grpc-js has to say about a port that is taken, this program says itself.
  const grpcSays = (...parts: unknown[]): void => logger.debug({ parts }, "grpc-js");
  setLogger({ error: grpcSays, info: grpcSays, debug: grpcSays });
  process.on("uncaughtException", (error) => {
    logger.error({ err: error }, "an error that nobody caught ends the process");
    void leave(1);
  });
  const agents = await loadAgents(module);
  const options = optionsOf(flags);
  const store = storeOf(flags, logger);
  noteUnexpectedEnd(store);
  let server: Server | undefined;
  // Not before the store is open, which holds up this thread, by a hanging disk for ever: until then a signal ends the
  // process by itself.
  endOnSignals(latestEnd(flags), async (signal) => {
    logger.info({ signal }, "asked to end");
    // Whoever is stopped while starting leaves things as a crash would, and the next start takes care of that.
    return server === undefined ? leave(0, signal) : close(server, logger, { code: 0, signal });
  });
  try {
    server = await createServer({ ...options, ...agents, store, logger });
  } catch (error) {
    await store.close().catch(() => {});
    throw error;
  }
  const { url, grpcAddress, card, failure } = server;
  const running = server;
  void failure.then((error) => {
    logger.error({ err: error }, "the server ends, to be started again");
    return close(running, logger, { code: RESTART_CODE, graceMs: 0 });
  });
  process.stdout.write(greeting({ url, grpcAddress, card, store: flags.store }));
}

/** What a server needs beyond the grace that its work gets, in milliseconds: it gives up by itself before. */
const END_MS = defaultLimits.cancelGraceMs + 5_000;

function latestEnd({ graceMs = defaultLimits.shutdownGraceMs }: ServeFlags): number {
  return graceMs + END_MS;
}

/** Whether a variable switches an option on that has no value. @throws UsageError for a word that says neither. */
function isOn(variable: string): boolean {
  const word = (process.env[variable] ?? "").toLowerCase();
  if (["", "false", "0", "no", "off"].includes(word)) return false;
  if (["true", "1", "yes", "on"].includes(word)) return true;
  throw new UsageError(`${variable} is ${JSON.stringify(word)}, not true or false`);
}

interface Close {
  /** Exit code of an orderly end. */
  readonly code: number;
  /** What the process dies of when something hangs. */
  readonly signal?: NodeJS.Signals;
  readonly graceMs?: number;
}

async function close(server: Server, logger: pino.Logger, { code, signal, graceMs }: Close): Promise<never> {
  try {
    await server.close(graceMs === undefined ? {} : { graceMs });
  } catch (error) {
    logger.error({ err: error }, "the server did not end in order");
    return leave(code === 0 ? 1 : code, signal);
  }
  return leave(code, signal);
}

function storeOf({ store, shared = false, sqliteDriver }: ServeFlags, logger: pino.Logger): TaskStore {
  if (sqliteDriver !== undefined) useDriver(sqliteDriver);
  return store === "memory" ? memoryStore() : sqliteStore({ path: store, shared, logger });
}

function optionsOf(flags: ServeFlags): Omit<ServerOptions, "store"> {
  const { port, grpcPort, host, publicUrl, grpcPublicUrl, tlsCert, tlsKey, cors, trustProxy } = flags;
  const { cardGrpc, retentionMs, leaseMs, graceMs, idempotentMessageIds } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new UsageError("TLS needs both --tls-cert and --tls-key");
  }
  return {
    port,
    grpcPort,
    host,
    ...(publicUrl !== undefined && { publicUrl }),
    ...(grpcPublicUrl !== undefined && { grpcPublicUrl }),
    ...(cardGrpc !== undefined && { cardGrpc }),
    ...(tlsCert !== undefined && tlsKey !== undefined && { tls: { cert: pem(tlsCert), key: pem(tlsKey) } }),
    ...(cors !== undefined && { cors: listOf(cors) }),
    ...(flags.allowedHosts !== undefined && { allowedHosts: namesIn(flags.allowedHosts) }),
    ...(trustProxy !== undefined && { trustProxy: listOf(trustProxy) }),
    ...(retentionMs !== undefined && { retentionMs }),
    ...(leaseMs !== undefined && { leaseMs }),
    ...(graceMs !== undefined && { limits: { shutdownGraceMs: graceMs } }),
    ...(idempotentMessageIds !== undefined && { idempotentMessageIds }),
  };
}

function pem(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new UsageError(`cannot read ${file}: ${(cause as Error).message}`, { cause });
  }
}

/** In the environment an option that needs no value still has one. */
function listOf(value: string | true): boolean | string[] {
  if (value === true || value === "true") return true;
  if (value === "false") return false;
  return namesIn(value);
}

function namesIn(value: string): string[] {
  return value
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError("It is not a port, a whole number from 0 to 65535.");
  return port;
}

function millis(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError("It is not a number of milliseconds.");
  return Number(text);
}

function portOrOff(text: string): number | false {
  return text === "off" ? false : portNumber(text);
}
