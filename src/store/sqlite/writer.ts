import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { Heartbeat } from "../heartbeat.js";
import { StoreError } from "../task-store.js";
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
import type { Probed, Reply, Started, Write, WriteOutcome } from "./write.js";
import { CLOSE, type Message, PROBE, readMessage } from "./write-codec.js";

/** Writes and bytes at which a commit takes no more messages, so that the first does not wait long for the last. */
const MAX_WRITES = 1_024;
const MAX_BYTES = 1024 * 1024;

/** Interval between checks of the files, in milliseconds. */
const CHECK_MS = 500;

type WriterMessage = Message | typeof CLOSE | typeof PROBE;

/**
 * The writer thread. While it waits for the disk, messages queue at its port; the next commit takes all of them, except
 * bulk writes: a commit takes one bulk message, after the small writes. Unexpected errors are not caught: they end the
 * thread, and the client answers all callers.
 */
export class Writer {
  readonly #port: MessagePort;
  readonly #data: WriterData;
  readonly #db: Database;
  readonly #committer: Committer;
  readonly #pulse: Heartbeat;
  readonly #guard: FileGuard;
  /** A lasting fault of the files. */
  #fault: FileFault | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #bulk: Message[] = [];
  /** Bytes of bulk writes in SQLite's log since the last checkpoint. */
  #inLog = 0;
  #again: NodeJS.Immediate | undefined;
  #probe = false;
  #close = false;

  constructor(port: MessagePort, data: WriterData) {
    this.#port = port;
    this.#data = data;
    this.#db = openWriter(data);
    this.#guard = new FileGuard(data.files);
    const lost = this.#guard.checkNow();
    if (lost !== undefined) throw new StoreError("unavailable", lost.reason);
    this.#committer = new Committer(this.#db, data.gone, data.schema);
    this.#pulse = new Heartbeat((request) => {
      if (this.#fault === undefined) this.#committer.commit([{ method: "heartbeatForHolder", request }]);
    });
    // Checks the file while no writes arrive. Only this thread knows its own last write.
    this.#timer = setInterval(() => this.#recheckFile(), CHECK_MS);
    port.on("message", (first: WriterMessage) => this.#round(first));
    port.postMessage({ started: true } satisfies Started);
  }

  #round(first: WriterMessage | undefined): void {
    const writes = this.#gather(first);
    for (const write of writes) if (write.method === "heartbeat") this.#pulse.note(write.request);
    if (writes.length > 0) {
      this.#port.postMessage(this.#commit(writes));
      this.#wrote(this.#committer.takeGivenBack());
    }
    // Even a probe without changes writes a page.
    if (this.#probe && this.#committer.foreign === undefined && this.#fault === undefined)
      this.#port.postMessage({ probed: writeFirstPage(this.#db) } satisfies Probed);
    this.#probe = false;
    do this.#commitBulk();
    while (this.#close && this.#bulk.length > 0);
    if (this.#close) this.#end();
    else if (this.#bulk.length > 0) this.#again ??= setImmediate(() => this.#continue());
  }

  #continue(): void {
    this.#again = undefined;
    this.#round(receive(this.#port));
  }

  /** Collects the small writes from the messages received. */
  #gather(first: WriterMessage | undefined): Write[] {
    const writes: Write[] = [];
    let size = 0;
    for (let next = first; next !== undefined; next = receive(this.#port)) {
      if (next === CLOSE) {
        this.#close = true;
        break;
      }
      if (next === PROBE) this.#probe = true;
      else if (next.bulk === true) this.#bulk.push(next);
      else {
        for (const write of readMessage(next)) writes.push(write);
        size += next.size;
      }
      if (writes.length >= MAX_WRITES || size >= MAX_BYTES) break;
    }
    return writes;
  }

  #commitBulk(): void {
    const message = this.#bulk.shift();
    if (message === undefined) return;
    this.#port.postMessage({ ...this.#commit(readMessage(message)), bulk: true });
    this.#wrote(message.size);
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
    if (this.#fault === undefined && this.#checkFile()?.lasting === true) this.#reportFault();
  }

  #reportFault(): void {
    if (this.#fault !== undefined) this.#port.postMessage({ count: 0, lost: this.#fault } satisfies Reply);
  }

  #commit(writes: readonly Write[]): Reply {
    const early = this.#prepare();
    if (early !== undefined) return rejectedReply(writes, { lost: early });
    const began = performance.now();
    const outcomes = this.#committer.commit(writes);
    const ms = performance.now() - began;
    const { foreign } = this.#committer;
    if (foreign !== undefined) return rejectedReply(writes, { outgrown: this.#outgrown(foreign) });
    const lost = this.#checkFile();
    return lost === undefined ? { ...toReply(outcomes), ms } : rejectedReply(writes, { lost });
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

  #end(): void {
    clearImmediate(this.#again);
    this.#pulse.stop();
    clearInterval(this.#timer);
    // Checkpoints in this thread, since the main thread keeps serving until it ends.
    if (this.#checkFile() === undefined) checkpoint(this.#db);
    else this.#reportFault();
    this.#db.close();
    this.#port.close();
  }
}

function receive(port: MessagePort): WriterMessage | undefined {
  return (receiveMessageOnPort(port) as { message: WriterMessage } | undefined)?.message;
}

/**
 * Rejects writes that went into a file without a name, which no later process can open, or that another program's
 * schema prevented. The check after each commit takes about 10 microseconds; a sync takes hundreds.
 */
function rejectedReply(writes: readonly Write[], why: Pick<Reply, "lost" | "outgrown">): Reply {
  const error = new StoreError("unavailable", why.lost?.reason ?? why.outgrown ?? "");
  return { ...toReply(writes.map(() => ({ error }))), failed: false, ...why };
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
  new Writer(parentPort, data);
}
