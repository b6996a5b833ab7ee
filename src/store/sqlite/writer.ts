import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { StoreError } from "../task-store.js";
import { Committer, type Outcome } from "./commit.js";
import {
  APPLICATION_ID,
  BULK_CHECKPOINT_BYTES,
  checkpoint,
  openWriter,
  outgrown,
  type WriterData,
} from "./connection.js";
import { useDriver } from "./driver/choose.js";
import type { Database } from "./driver/driver.js";
import { toStoreError } from "./errors.js";
import { checkNow } from "./file-identity.js";
import { Heartbeat } from "./heartbeat.js";
import { CLOSE, type Message, PROBE, readMessage } from "./message.js";
import type { Answer, Probed, Reply, Started, Write } from "./write.js";

/**
 * A commit that has this many writes, or bytes, takes no more messages: the first of them should not wait long for the
 * last.
 */
const MAX_WRITES = 1_024;
const MAX_BYTES = 1024 * 1024;

type Incoming = Message | typeof CLOSE | typeof PROBE;

/**
 * The thread that writes. While it waits for the disk, messages gather at its port; the next commit takes all of
 * them, but for bulk writes: of those a commit has one message, after the small ones that came meanwhile. Nothing is
 * caught here: an error that no write explains ends the thread, and its other end answers all callers.
 */
class Writer {
  readonly #port: MessagePort;
  readonly #data: WriterData;
  readonly #db: Database;
  readonly #committer: Committer;
  readonly #pulse: Heartbeat;
  readonly #bulk: Message[] = [];
  /** Bytes of bulk writes in SQLite's log since it was moved into the file. */
  #inLog = 0;
  #again: NodeJS.Immediate | undefined;
  #probe = false;
  #close = false;

  constructor(port: MessagePort, data: WriterData) {
    this.#port = port;
    this.#data = data;
    this.#db = openWriter(data);
    const lost = checkNow(data.files);
    if (lost !== undefined) throw new StoreError("unavailable", lost);
    this.#committer = new Committer(this.#db, data.gone, data.schema);
    this.#pulse = new Heartbeat((request) => void this.#committer.commit([{ method: "beatForIt", request }]));
    port.on("message", (first: Incoming) => this.#round(first));
    port.postMessage({ started: true } satisfies Started);
  }

  #round(first: Incoming | undefined): void {
    const writes = this.#gather(first);
    this.#pulse.note(writes);
    if (writes.length > 0) {
      this.#port.postMessage(this.#commit(writes));
      this.#wroteInBulk(this.#committer.takeGivenBack());
    }
    // Even a probe that changes nothing writes a page.
    if (this.#probe && this.#committer.foreign === undefined)
      this.#port.postMessage({ probed: probe(this.#db) } satisfies Probed);
    this.#probe = false;
    do this.#commitBulk();
    while (this.#close && this.#bulk.length > 0);
    if (this.#close) this.#end();
    else if (this.#bulk.length > 0) this.#again ??= setImmediate(() => this.#goOn());
  }

  #goOn(): void {
    this.#again = undefined;
    this.#round(receive(this.#port));
  }

  /** Takes what has come: the small writes among it. */
  #gather(first: Incoming | undefined): Write[] {
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
    this.#wroteInBulk(message.size);
  }

  #wroteInBulk(bytes: number): void {
    this.#inLog += bytes;
    if (this.#inLog < BULK_CHECKPOINT_BYTES) return;
    // No answer waits for it.
    checkpoint(this.#db);
    this.#inLog = 0;
  }

  #commit(writes: readonly Write[]): Reply {
    const outcomes = this.#committer.commit(writes);
    const { foreign } = this.#committer;
    if (foreign !== undefined) return refusal(outcomes, { outgrown: this.#outgrown(foreign) });
    const lost = checkNow(this.#data.files);
    return lost === undefined ? toReply(outcomes) : refusal(outcomes, { lost });
  }

  #outgrown(version: number): string {
    const { path, schema = 0 } = this.#data;
    return outgrown(path, version, schema);
  }

  #end(): void {
    clearImmediate(this.#again);
    this.#pulse.stop();
    this.#db.close();
    this.#port.close();
  }
}

function receive(port: MessagePort): Incoming | undefined {
  return (receiveMessageOnPort(port) as { message: Incoming } | undefined)?.message;
}

/**
 * Nothing is acknowledged that went into a file without a name, which no later process can open, nor anything that
 * another program's layout kept out. Looking after each commit costs a few microseconds beside a sync of hundreds.
 */
function refusal(outcomes: readonly Outcome[], why: Pick<Reply, "lost" | "outgrown">): Reply {
  const error = new StoreError("unavailable", why.lost ?? why.outgrown ?? "");
  return { ...toReply(outcomes.map(() => ({ error }))), failed: false, ...why };
}

function toReply(outcomes: readonly Outcome[]): Reply {
  const answers = new Map<number, Answer>();
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

/** Whether the disk takes a commit of one page, which changes nothing: what is wrong, or null. */
function probe(db: Database): string | null {
  try {
    db.pragma(`application_id = ${APPLICATION_ID}`);
    return null;
  } catch (error) {
    return toStoreError(error, "The store cannot be written").message;
  }
}

if (parentPort !== null) {
  const data = workerData as WriterData;
  useDriver(data.driver);
  new Writer(parentPort, data);
}
