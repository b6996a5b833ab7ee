import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { Heartbeat } from "../heartbeat.js";
import { type HeartbeatRequest, StoreError } from "../task-store.js";
import { Committer, type Outcome } from "./commit.js";
import {
  APPLICATION_ID,
  BULK_CHECKPOINT_BYTES,
  CHECKPOINT_PAGES,
  checkpoint,
  openWriter,
  outgrown,
  type WriterData,
} from "./connection.js";
import { useDriver } from "./driver/choose.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { type FileFault, FileGuard } from "./file-guard.js";
import type { FromWriter, Reply, Write, WriteOutcome } from "./write.js";
import { CLOSE, type Message, PROBE, readMessage, type ToWriter } from "./write-codec.js";

/** Writes and bytes at which a commit takes no more messages, so that the first does not wait long for the last. */
const MAX_WRITES = 1_024;
const MAX_BYTES = 1024 * 1024;

/** Interval between checks of the files, in milliseconds. */
const CHECK_MS = 500;

export interface WriterPort {
  /** Takes the next message that has arrived. */
  take(): ToWriter | undefined;
  post(message: FromWriter): void;
  /** Called when the client has announced its end and all its writes are done. */
  end(): void;
}

/** Writes of one client in a commit. */
interface Batch {
  readonly port: WriterPort;
  readonly writes: Write[];
}

/**
 * The only writer of the file. It runs in a thread for one client, or in a process for several. While it waits for the
 * disk, messages queue at its ports; the next commit takes all of them, except bulk writes: a commit takes one bulk
 * message, after the small writes. Unexpected errors are not caught: they end the thread, and the client answers all
 * callers.
 */
export class Writer {
  readonly #data: WriterData;
  readonly #db: Database;
  readonly #committer: Committer;
  readonly #guard: FileGuard;
  readonly #onHeartbeat: ((request: HeartbeatRequest) => void) | undefined;
  readonly #ports: WriterPort[] = [];
  /** Clients that have announced their end. */
  readonly #closing = new Set<WriterPort>();
  readonly #probing = new Set<WriterPort>();
  #fault: FileFault | undefined;
  readonly #timer: NodeJS.Timeout;
  #bulk: { readonly port: WriterPort; readonly message: Message }[] = [];
  /** Bytes of bulk writes in SQLite's log since the last checkpoint. */
  #inLog = 0;
  #again: NodeJS.Immediate | undefined;
  #lastMs = 0;

  constructor(data: WriterData, onHeartbeat?: (request: HeartbeatRequest) => void) {
    this.#data = data;
    this.#onHeartbeat = onHeartbeat;
    this.#db = openWriter(data);
    this.#guard = new FileGuard(data.files);
    const lost = this.#guard.checkNow();
    if (lost !== undefined) throw new StoreError("unavailable", lost.reason);
    this.#committer = new Committer(this.#db, data.deadHolders, data.schema, data.ended);
    // Checks the file while no writes arrive. Only this thread knows its own last write.
    this.#timer = setInterval(() => this.#recheckFile(), CHECK_MS);
  }

  /** Duration of the last commit, in milliseconds. */
  get lastMs(): number {
    return this.#lastMs;
  }

  /** Starts to serve a client. */
  add(port: WriterPort): void {
    this.#ports.push(port);
    port.post({ started: true });
    this.#reportFault([port]);
  }

  /** Removes a client that has ended, and drops its writes that have not begun. */
  drop(port: WriterPort): void {
    const at = this.#ports.indexOf(port);
    if (at >= 0) this.#ports.splice(at, 1);
    this.#closing.delete(port);
    this.#probing.delete(port);
    this.#bulk = this.#bulk.filter((bulk) => bulk.port !== port);
  }

  /** Stores a heartbeat on behalf of a holder whose event loop is blocked. */
  storeHeartbeat(request: HeartbeatRequest): void {
    if (this.#fault === undefined) this.#committer.commit([{ method: "heartbeatForHolder", request }]);
  }

  /** Commits the entries that have arrived. */
  round(): void {
    const batches = this.#gather();
    if (batches.length > 0) {
      this.#commit(batches);
      this.#wrote(this.#committer.takeGivenBack());
    }
    this.#probe();
    const bulk = this.#bulk.shift();
    if (bulk !== undefined) {
      this.#commit([{ port: bulk.port, writes: readMessage(bulk.message) }], true);
      this.#wrote(bulk.message.size);
    }
    for (const port of this.#closing) if (!this.#bulk.some((left) => left.port === port)) this.#closePort(port);
    if (this.#bulk.length > 0) this.#roundSoon();
  }

  /** Closes the file. Returns its fault, if any. */
  end(): FileFault | undefined {
    clearImmediate(this.#again);
    clearInterval(this.#timer);
    const fault = this.#checkFile();
    // Checkpoints in this thread, since the main thread keeps serving until it ends.
    if (fault === undefined) checkpoint(this.#db);
    this.#db.close();
    return fault;
  }

  #roundSoon(): void {
    this.#again ??= setImmediate(() => {
      this.#again = undefined;
      this.round();
    });
  }

  /** Collects the small writes from the messages received, one message of each client in turn. */
  #gather(): Batch[] {
    const batches: Batch[] = [];
    let count = 0;
    let size = 0;
    for (let some = true; some; ) {
      some = false;
      for (const port of this.#ports) {
        const next = this.#closing.has(port) ? undefined : port.take();
        if (next === undefined) continue;
        some = true;
        if (next === CLOSE) this.#closing.add(port);
        else if (next === PROBE) this.#probing.add(port);
        else if (next.bulk === true) this.#bulk.push({ port, message: next });
        else {
          this.#collect(batches, port, next);
          count += next.count;
          size += next.size;
        }
      }
      if (some && (count >= MAX_WRITES || size >= MAX_BYTES)) {
        this.#roundSoon();
        break;
      }
    }
    return batches;
  }

  #collect(batches: Batch[], port: WriterPort, message: Message): void {
    let batch = batches.find((known) => known.port === port);
    if (batch === undefined) {
      batch = { port, writes: [] };
      batches.push(batch);
    }
    for (const write of readMessage(message)) {
      batch.writes.push(write);
      if (write.method === "heartbeat") this.#onHeartbeat?.(write.request);
    }
  }

  /** Even a probe without changes writes a page. */
  #probe(): void {
    if (this.#probing.size === 0) return;
    if (this.#committer.foreign === undefined && this.#fault === undefined) {
      const probed = writeFirstPage(this.#db);
      for (const port of this.#probing) port.post({ probed });
    }
    this.#probing.clear();
  }

  #closePort(port: WriterPort): void {
    this.#recheckFile();
    this.drop(port);
    port.end();
  }

  /** Runs a checkpoint if the log has grown long. No answer waits for it. */
  #wrote(bulkBytes: number): void {
    this.#inLog += bulkBytes;
    if (this.#fault !== undefined) return;
    if (this.#inLog < BULK_CHECKPOINT_BYTES && this.#guard.frames < CHECKPOINT_PAGES) return;
    checkpoint(this.#db);
    this.#inLog = 0;
    this.#checkFile();
  }

  #checkFile(): FileFault | undefined {
    if (this.#fault !== undefined) return this.#fault;
    const fault = this.#guard.checkNow();
    if (fault?.lasting === true) this.#fault = fault;
    return fault;
  }

  #recheckFile(): void {
    if (this.#fault === undefined && this.#checkFile()?.lasting === true) this.#reportFault(this.#ports);
  }

  #reportFault(ports: readonly WriterPort[]): void {
    if (this.#fault !== undefined) for (const port of ports) port.post({ count: 0, lost: this.#fault });
  }

  /** Commits the writes of all batches together, and answers each client. */
  #commit(batches: readonly Batch[], bulk?: true): void {
    const [first, ...others] = batches;
    const writes = others.length === 0 ? (first?.writes ?? []) : batches.flatMap((batch) => batch.writes);
    const { outcomes, ms, why } = this.#perform(writes);
    let at = 0;
    for (const { port, writes: own } of batches) {
      const reply = toReply(others.length === 0 ? outcomes : outcomes.slice(at, at + own.length));
      // One of them counts the commit.
      const counts = at === 0 && ms !== undefined && (others.length === 0 ? { ms } : { ms, of: writes.length });
      port.post({ ...reply, ...counts, ...(why && { ...why, failed: false }), ...(bulk && { bulk }) });
      at += own.length;
    }
  }

  #perform(writes: readonly Write[]): Performed {
    const early = this.#prepare();
    if (early !== undefined) return rejected(writes, { lost: early });
    const began = performance.now();
    const outcomes = this.#committer.commit(writes);
    const ms = performance.now() - began;
    this.#lastMs = ms;
    const { foreign } = this.#committer;
    if (foreign !== undefined) return rejected(writes, { outgrown: this.#outgrown(foreign) });
    const lost = this.#checkFile();
    return lost === undefined ? { outcomes, ms } : rejected(writes, { lost });
  }

  /** Checks the log before a commit: SQLite would pad a truncated log with zeros. */
  #prepare(): FileFault | undefined {
    if (this.#fault !== undefined) return this.#fault;
    const log = this.#guard.logState;
    if (log === "cut") return this.#checkFile();
    // Each log begins with the first page, which identifies its file (see `isForeignLog`). The commit reports a full
    // disk.
    if (log === "moved" && this.#committer.foreign === undefined) writeFirstPage(this.#db);
    return undefined;
  }

  #outgrown(version: number): string {
    const { path, schema = 0 } = this.#data;
    return outgrown(path, version, schema);
  }
}

interface Performed {
  readonly outcomes: readonly Outcome[];
  readonly ms?: number;
  /** The reason for which all writes are rejected. */
  readonly why?: Pick<Reply, "lost" | "outgrown">;
}

/** Writes for the client at the other end of a port, until it closes, and repeats its heartbeats. */
export function serveThread(port: MessagePort, data: WriterData): void {
  const heartbeats = new Heartbeat((request) => writer.storeHeartbeat(request));
  const writer = new Writer(data, (request) => heartbeats.note(request));
  let first: ToWriter | undefined;
  port.on("message", (message: ToWriter) => {
    first = message;
    writer.round();
  });
  writer.add({
    take() {
      const next = first ?? receive(port);
      first = undefined;
      return next;
    },
    post: (message) => port.postMessage(message),
    end() {
      heartbeats.stop();
      writer.end();
      port.close();
    },
  });
}

function receive(port: MessagePort): ToWriter | undefined {
  return (receiveMessageOnPort(port) as { message: ToWriter } | undefined)?.message;
}

/**
 * Rejects writes that went into a file without a name, which no later process can open, or that another program's
 * schema prevented. The check after each commit takes about 10 microseconds; a sync takes hundreds.
 */
function rejected(writes: readonly Write[], why: Pick<Reply, "lost" | "outgrown">): Performed {
  const error = new StoreError("unavailable", why.lost?.reason ?? why.outgrown ?? "");
  return { outcomes: writes.map(() => ({ error })), why };
}

function toReply(outcomes: readonly Outcome[]): Reply {
  const answers = new Map<number, WriteOutcome>();
  let failed = false;
  outcomes.forEach((outcome, index) => {
    if ("error" in outcome) {
      const { kind, message, remembered, tooManyOf } = outcome.error;
      failed ||= kind === "unavailable";
      answers.set(index, { error: { kind, message, remembered, tooManyOf } });
    } else if (outcome.result !== undefined) {
      answers.set(index, outcome);
    }
  });
  return answers.size === 0 ? { count: outcomes.length } : { count: outcomes.length, answers, failed };
}

/** Commits the first page unchanged, to test if the disk accepts a commit. Returns the fault, or null. */
function writeFirstPage(db: Database): string | null {
  try {
    db.pragma(`application_id = ${APPLICATION_ID}`);
    return null;
  } catch (error) {
    return toStoreError(error, "The store cannot be written").message;
  }
}

const data = workerData as WriterData | null | undefined;
if (parentPort !== null && data) {
  useDriver(data.driver);
  serveThread(parentPort, data);
}
