import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { Committer, type Outcome } from "./commit.js";
import { CLOSE, type Message, readMessage } from "./message.js";
import { openWriter, type WriterData } from "./open.js";
import type { Answer, Reply, Write } from "./write.js";

/** A commit that has this many writes takes no more messages: the first of them should not wait long for the last. */
const MAX_WRITES = 1_024;

/**
 * The thread that writes. While it waits for the disk, messages gather at its port; the next commit takes all of
 * them. Nothing is caught here: an error that no write explains ends the thread, and its other end tells everybody.
 */
function main(port: MessagePort, data: WriterData): void {
  const db = openWriter(data);
  const committer = new Committer(db);
  port.on("message", (first: Message | typeof CLOSE) => {
    const writes: Write[] = [];
    let next: Message | typeof CLOSE | undefined = first;
    while (next !== undefined && next !== CLOSE) {
      for (const write of readMessage(next)) writes.push(write);
      next = writes.length < MAX_WRITES ? receive(port) : undefined;
    }
    if (writes.length > 0) port.postMessage(toReply(committer.commit(writes)));
    if (next === CLOSE) {
      db.close();
      port.close();
    }
  });
}

function receive(port: MessagePort): Message | typeof CLOSE | undefined {
  return (receiveMessageOnPort(port) as { message: Message | typeof CLOSE } | undefined)?.message;
}

function toReply(outcomes: readonly Outcome[]): Reply {
  const answers = new Map<number, Answer>();
  outcomes.forEach((outcome, index) => {
    if ("error" in outcome) {
      const { kind, message, remembered } = outcome.error;
      answers.set(index, { error: { kind, message, remembered } });
    } else if (outcome.result !== undefined) {
      answers.set(index, outcome);
    }
  });
  return answers.size === 0 ? { count: outcomes.length } : { count: outcomes.length, answers };
}

if (parentPort !== null) main(parentPort, workerData as WriterData);
