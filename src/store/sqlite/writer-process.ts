// The process that writes a file for the workers of a server. `startWriterProcess` starts it.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Logger } from "../../core/log.js";
import { StoreError } from "../task-store.js";
import { openReader } from "./connection.js";
import { useDriver } from "./driver/choose.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { closeFiles, type FileIdentity, openFiles } from "./file-identity.js";
import { leaveLog } from "./foreign-log.js";
import { unmarkInUse } from "./in-use.js";
import { SCHEMA_VERSION } from "./migrations.js";
import { logPreparation, type Prepared, prepareFile } from "./open.js";
import type { FromWriter } from "./write.js";
import { Writer } from "./writer.js";
import { SocketPort } from "./writer-port.js";
import { type Hello, helloOf, WRITER_VERSION, type WriterAnswer, type WriterRequest } from "./writer-protocol.js";

/** Maximum length of the path of a socket's folder, in bytes. Systems allow 104 for the path of the socket. */
const MOST_FOLDER_BYTES = 80;

/** Time that a commit waits for more writes if the previous commit took as long, in milliseconds. */
const WAIT_MS = 1;

/** Time after an answer in which a client is likely to send something, in milliseconds. */
const MOST_RECENT_MS = 5;

/** The first message of the process that starts this one. */
interface Begin {
  readonly request: WriterRequest;
  /** The answer of an earlier process, which has ended: this one takes its place. */
  readonly before?: WriterAnswer;
}

type LogLine = readonly [level: "debug" | "info" | "warn" | "error", facts: object, message: string];

/** Messages to the process that started this one. */
type ToStarter = { readonly answer: WriterAnswer } | { readonly log: LogLine };

/** Writes the file for all that connect. */
class WriterProcess {
  readonly #file: Prepared;
  /** Keeps SQLite's log, see `leaveLog`. */
  readonly #reader: Database;
  readonly #files: FileIdentity;
  readonly #writer: Writer;
  readonly #server: Server;
  readonly #clients = new Set<SocketPort>();
  #due: NodeJS.Immediate | undefined;
  #wait: NodeJS.Timeout | undefined;
  #isAlone = false;

  /** @throws StoreError as `prepareFile` */
  constructor({ path, shared, synchronous, driver }: WriterRequest, isAgain: boolean) {
    useDriver(driver);
    this.#file = prepareFile(path, shared, logger, isAgain);
    this.#reader = openReader(this.#file.path);
    this.#files = openFiles(this.#file.path);
    const schema = shared ? SCHEMA_VERSION : undefined;
    const { deadHolders: ended = [] } = this.#file;
    const data = {
      path: this.#file.path,
      synchronous,
      files: this.#files,
      deadHolders: undefined,
      ended,
      schema,
      driver,
    };
    this.#writer = new Writer(data);
    this.#server = createServer((socket) => this.#serve(socket));
    logPreparation(this.#file, logger);
  }

  /** Listens. @param known the address at which an earlier process listened */
  async listen(known: string | undefined): Promise<WriterAnswer> {
    const { path, restorations } = this.#file;
    const address = known ?? newAddress(path);
    rmSync(address, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject).listen(address, resolve);
    });
    return { version: WRITER_VERSION, address, path, restorations };
  }

  /** Ends this process after its last client. The process that started it has ended and can no longer end it. */
  endAlone(): void {
    this.#isAlone = true;
    if (this.#clients.size === 0) this.end(true);
  }

  /** Closes the file and ends this process. @param isLast false if another one takes its place */
  end(isLast: boolean): never {
    const address = this.#server.address();
    const fault = this.#writer.end();
    this.#reader.close();
    leaveLog(this.#files, fault, logger);
    closeFiles(this.#files);
    this.#file.lock.release();
    if (isLast && fault === undefined) unmarkInUse(this.#file.path);
    if (isLast && typeof address === "string") rmSync(dirname(address), { recursive: true, force: true });
    return process.exit(0);
  }

  #serve(socket: Socket): void {
    const client = new SocketPort(socket, {
      refusalOf: (hello) => this.#refusalOf(hello),
      onOpen: (port) => this.#writer.add(port),
      // Commits after all arrived messages of all clients have been read.
      onMessage: () => {
        this.#due ??= setImmediate(() => this.#arrived());
      },
      onClose: (port) => {
        this.#writer.drop(port);
        this.#clients.delete(client);
        if (this.#isAlone && this.#clients.size === 0) this.end(true);
      },
    });
    this.#clients.add(client);
  }

  /**
   * Commits the writes that have arrived. On a slow disk, it first waits for clients that were just answered to send
   * more. Otherwise the clients would take turns, each with its own sync.
   */
  #arrived(): void {
    this.#due = undefined;
    const since = performance.now() - Math.min(this.#writer.lastMs, MOST_RECENT_MS);
    const isSlow = this.#writer.lastMs >= WAIT_MS;
    if (isSlow && [...this.#clients].some((client) => !client.hasSent && client.answered > since)) {
      this.#wait ??= setTimeout(() => this.#round(), WAIT_MS);
    } else this.#round();
  }

  #round(): void {
    clearTimeout(this.#wait);
    this.#wait = undefined;
    this.#writer.round();
  }

  #refusalOf({ version, dev, ino }: Hello): FromWriter | undefined {
    const { path } = this.#file;
    if (version !== WRITER_VERSION)
      return { count: 0, outgrown: `Another version of this program has opened ${path}. Restart the server.` };
    const own = helloOf(this.#files);
    if (own.dev === dev && own.ino === ino) return undefined;
    const reason = `The file ${path} was replaced while the store had it open.`;
    return { count: 0, lost: { reason, lasting: true, logIsForeign: false } };
  }
}

/** Returns a path for a socket in a folder that other users cannot enter. */
function newAddress(path: string): string {
  if (process.platform === "win32") {
    throw new StoreError("failed", `Cannot open ${path} for several processes on Windows. Use PostgreSQL.`);
  }
  for (const folder of [tmpdir(), dirname(path)]) {
    if (Buffer.byteLength(folder) > MOST_FOLDER_BYTES) continue;
    try {
      return join(mkdtempSync(join(folder, "parley-")), "writer");
    } catch {
      // The folder is not writable.
    }
  }
  const remedy = "Set TMPDIR to a folder with a short path that can be written.";
  throw new StoreError("failed", `Cannot open ${path} for several processes: no folder can have a socket. ${remedy}`);
}

function send(message: ToStarter): void {
  if (process.connected) process.send?.(message, () => {});
}

const log =
  (level: LogLine[0]) =>
  (facts: object, message: string): void =>
    send({ log: [level, facts, message] });
const logger: Logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };

/** Sends a last message, and ends. */
function fail(message: ToStarter): void {
  if (process.connected) process.send?.(message, () => process.exit(1));
  else process.exit(1);
}

let writer: WriterProcess | undefined;

async function begin({ request, before }: Begin): Promise<void> {
  const known = before !== undefined && "address" in before ? before.address : undefined;
  try {
    writer = new WriterProcess(request, known !== undefined);
    send({ answer: await writer.listen(known) });
  } catch (error) {
    const { kind, message } = toStoreError(error, `Cannot open ${request.path}`);
    fail({ answer: { error: { kind, message } } });
  }
}

process.on("message", (message: Begin | "end" | "renew") => {
  if (typeof message === "object") void begin(message);
  else if (writer === undefined) process.exit(0);
  else writer.end(message === "end");
});
process.on("disconnect", () => {
  if (writer === undefined) process.exit(0);
  else writer.endAlone();
});
// A terminal and systemd send signals to all processes of a server. This one ignores them, because it has to end last.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});
process.on("uncaughtException", (error) => {
  fail({ log: ["error", { stack: error.stack }, `the process that writes the store failed: ${error.message}`] });
});
