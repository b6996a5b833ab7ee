import { createWriteStream, readFileSync, type WriteStream } from "node:fs";
import type { JsonObject } from "@bufbuild/protobuf";

/** A client's record of one thing that it did or saw. */
export type Note =
  /** A message is about to be sent for the first time. Without a task it asks for one. */
  | { readonly kind: "sent"; readonly message: string; readonly task?: string }
  /** A server answered that it has the message; repeated sends are answered repeatedly. */
  | { readonly kind: "acknowledged"; readonly message: string; readonly task: string }
  /** A server refused the message for good. */
  | { readonly kind: "refused"; readonly message: string; readonly why: string }
  /** A task as an answer showed it. `asked` is when the call began; a reader is a stream that is about to go on from here. */
  | {
      readonly kind: "task";
      readonly task: string;
      readonly generation: number;
      readonly state: string;
      readonly asked: number;
      readonly reader?: string;
    }
  /** An event that a reader was given, over as many streams as that took. */
  | {
      readonly kind: "event";
      readonly task: string;
      readonly generation: number;
      readonly reader: string;
      readonly event: JsonObject;
    }
  /** A reader goes on at another server. */
  | { readonly kind: "resumed"; readonly reader: string }
  /** A task that had been acknowledged is not there. */
  | { readonly kind: "missing"; readonly task: string; readonly where: string }
  /** A task was canceled, or it was too late for that. */
  | { readonly kind: "canceled"; readonly task: string; readonly done: boolean }
  /** A call failed in a way that leaves open whether it was done. */
  | { readonly kind: "failed"; readonly call: string; readonly why: string; readonly where: string }
  /** A task whose events a webhook is to get, from the first on. */
  | { readonly kind: "hooked"; readonly hook: string; readonly task: string }
  /** A webhook got a notification, and answered it when this was noted; 0 stands for a connection that broke before. */
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
  /** The network of a replica was disturbed until now: what it sent before may have arrived late. */
  | { readonly kind: "disturbed"; readonly address: string; readonly begun: number }
  /** Something that no answer of a server may be. */
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

/** A task as a server has it in the end. */
export interface FinalTask {
  readonly id: string;
  readonly context: string;
  readonly state: string;
  readonly generation: number;
  /** The task that it is a sub-task of. */
  readonly parent?: string;
  /** The ids of its clients' messages, in the order of the log. */
  readonly messages: readonly string[];
  /** Its events after the first generation. */
  readonly events: readonly (readonly [generation: number, event: JsonObject])[];
  /** Servers that showed it otherwise. */
  readonly disagreeing: readonly string[];
}

/** Milliseconds on the machine's monotonic clock, which all processes share. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** The file that a client keeps its notes in. */
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

/** The lines of a file of JSON lines. A process that is killed may leave half a line at the end of what it wrote. */
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
