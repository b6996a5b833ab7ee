import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import { StoreError } from "../task-store.js";
import { Committer, type Outcome } from "./commit.js";
import { APPLICATION_ID, openWriter, type WriterData } from "./connection.js";
import { toStoreError } from "./errors.js";
import { CLOSE, type Message, PROBE, readMessage } from "./message.js";
import { lookNow } from "./place.js";
import { Pulse } from "./pulse.js";
import type { Answer, Probed, Reply, Started, Write } from "./write.js";

/** A commit that has this many writes takes no more messages: the first of them should not wait long for the last. */
const MAX_WRITES = 1_024;

type Incoming = Message | typeof CLOSE | typeof PROBE;

/**
 * The thread that writes. While it waits for the disk, messages gather at its port; the next commit takes all of
 * them. Nothing is caught here: an error that no write explains ends the thread, and its other end tells everybody.
 */
function main(port: MessagePort, data: WriterData): void {
  const db = openWriter(data);
  const lost = lookNow(data.place);
  if (lost !== undefined) throw new StoreError("unavailable", lost);
  const committer = new Committer(db, data.gone);
  const pulse = new Pulse((request) => void committer.commit([{ method: "beatForIt", request }]));
  port.on("message", (first: Incoming) => {
    const writes: Write[] = [];
    let asked = false;
    let next: Incoming | undefined = first;
    while (next !== undefined && next !== CLOSE) {
      if (next === PROBE) asked = true;
      else for (const write of readMessage(next)) writes.push(write);
      next = writes.length < MAX_WRITES ? receive(port) : undefined;
    }
    pulse.note(writes);
    if (writes.length > 0) port.postMessage(answer(committer.commit(writes), lookNow(data.place)));
    if (asked) port.postMessage({ probed: probe(db) } satisfies Probed);
    if (next === CLOSE) {
      pulse.stop();
      db.close();
      port.close();
    }
  });
  port.postMessage({ started: true } satisfies Started);
}

function receive(port: MessagePort): Incoming | undefined {
  return (receiveMessageOnPort(port) as { message: Incoming } | undefined)?.message;
}

/**
 * Nothing is acknowledged that went into a file without a name, which no later process can open. Looking after each
 * commit costs a few microseconds beside a sync of hundreds.
 */
function answer(outcomes: readonly Outcome[], lost: string | undefined): Reply {
  if (lost === undefined) return toReply(outcomes);
  const error = new StoreError("unavailable", lost);
  return { ...toReply(outcomes.map(() => ({ error }))), lost };
}

function toReply(outcomes: readonly Outcome[]): Reply {
  const answers = new Map<number, Answer>();
  let failed = false;
  outcomes.forEach((outcome, index) => {
    if ("error" in outcome) {
      const { kind, message, remembered } = outcome.error;
      failed ||= kind === "unavailable";
      answers.set(index, { error: { kind, message, remembered } });
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

if (parentPort !== null) main(parentPort, workerData as WriterData);
