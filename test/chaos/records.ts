import { createWriteStream, readFileSync, type WriteStream } from "node:fs";
import type { JsonObject } from "@bufbuild/protobuf";

/** A client's record of one thing that it did or saw. */
export type Note =
  /** A message is about to be sent for the first time. If `task` is missing, it asks for a new task. */
  | { readonly kind: "sent"; readonly message: string; readonly task?: string }
  /** A server acknowledged the message. Each repeated send is acknowledged again. */
  | { readonly kind: "acknowledged"; readonly message: string; readonly task: string }
  /** A server finally refused the message. */
  | { readonly kind: "refused"; readonly message: string; readonly why: string }
  /** A task in an answer. `asked` is the start of the call. If `reader` is set, its stream continues from this task. */
  | {
      readonly kind: "task";
      readonly task: string;
      readonly generation: number;
      readonly state: string;
      readonly asked: number;
      readonly reader?: string;
    }
  /** An event that a reader received over any number of streams. */
  | {
      readonly kind: "event";
      readonly task: string;
      readonly generation: number;
      readonly reader: string;
      readonly event: JsonObject;
    }
  /** A reader continues on another server. */
  | { readonly kind: "resumed"; readonly reader: string }
  /** An acknowledged task was not found. */
  | { readonly kind: "missing"; readonly task: string; readonly where: string }
  /** A client canceled a task. `done` is false if it was too late. */
  | { readonly kind: "canceled"; readonly task: string; readonly done: boolean }
  /** A call failed with an unknown outcome. */
  | { readonly kind: "failed"; readonly call: string; readonly why: string; readonly where: string }
  /** A webhook is to receive all events of a task. */
  | { readonly kind: "hooked"; readonly hook: string; readonly task: string }
  /**
   * A webhook received a notification. It answered at the time of this note; status 0 means that the connection broke
   * first.
   */
  | {
      readonly kind: "notified";
      readonly hook: string;
      readonly id: string;
      readonly generation: number;
      readonly begun: number;
      readonly status: number;
      /** Address of the sender. */
      readonly from: string;
      readonly body: JsonObject;
    }
  /** The network of a replica was disturbed until now. Data that it sent earlier may have arrived late. */
  | { readonly kind: "disturbed"; readonly address: string; readonly begun: number }
  /** An answer that no server may give. */
  | { readonly kind: "wrong"; readonly why: string };

/** A note with its client and its time, on the machine's monotonic clock and as time of day, in milliseconds. */
export type Noted = Note & { readonly client: string; readonly at: number; readonly wall: number };

/** An agent's record of a side effect, written when it happens. */
export interface Effect {
  readonly task: string;
  readonly message: string;
  readonly attempt: number;
  readonly step: string;
  /** The result of the step. */
  readonly value: string;
  /** The process, by a random name. */
  readonly holder: string;
  readonly at: number;
}

/** The final state of a task on a server. */
export interface FinalTask {
  readonly id: string;
  readonly context: string;
  readonly state: string;
  readonly generation: number;
  /** The task that this one is a sub-task of. */
  readonly parent?: string;
  /** The ids of its clients' messages, in the order of the log. */
  readonly messages: readonly string[];
  /** Its events after the first generation. */
  readonly events: readonly (readonly [generation: number, event: JsonObject])[];
  /** Names of servers that showed another state. */
  readonly disagreeing: readonly string[];
}

/** Milliseconds on the machine's monotonic clock, which all processes share. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** Writes a client's notes to a file. */
export class Notebook {
  readonly client: string;
  readonly #file: WriteStream;

  constructor(path: string, client: string) {
    this.client = client;
    this.#file = createWriteStream(path, { flags: "a" });
  }

  note(note: Note): void {
    const noted: Noted = { at: now(), wall: Date.now(), client: this.client, ...note };
    this.#file.write(`${JSON.stringify(noted)}\n`);
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#file.end(resolve));
  }
}

/** Reads a file of JSON lines. The last line may be incomplete if its writer was killed. */
export function linesOf<T>(path: string): T[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as T];
      } catch {
        return [];
      }
    });
}
