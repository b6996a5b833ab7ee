// Messages between the primary process and its workers, over the channel that Node.js opens for a child process.

import type { ListenAddress } from "../http/node/listening.js";

/** The ports that workers serve. */
export type PortName = "http" | "grpc" | "admin";

/** The address that a worker asks to listen on. */
export type PortAddress = Omit<ListenAddress, "source">;

/** An error of the system, without its class. */
export interface PortError {
  readonly code: string | undefined;
  readonly message: string;
}

/** An open port, or the reason why it is not open. */
export interface PortAnswer {
  readonly host?: string;
  readonly port?: number;
  readonly error?: PortError;
}

export type FromWorker =
  /** Opens a port, unless it is open. */
  | { readonly type: "open"; readonly port: PortName; readonly address: PortAddress }
  /** Starts to take connections of the port. */
  | { readonly type: "take"; readonly port: PortName }
  /** Stops taking connections of the port. */
  | { readonly type: "stop"; readonly port: PortName }
  /** A connection has arrived; `taken` is false if it has to go to another worker. */
  | { readonly type: "connection"; readonly id: number; readonly taken: boolean }
  /** All messages before the question have arrived. */
  | { readonly type: "checked"; readonly upTo: number }
  /** Asks for the process that writes the store for all workers. */
  | { readonly type: "store"; readonly request: object }
  /** The name under which the worker holds leases, sent before it takes the first one. */
  | { readonly type: "holder"; readonly holder: string }
  /** The worker serves calls. `latestMs` is the maximum duration of its graceful shutdown. */
  | { readonly type: "ready"; readonly latestMs: number }
  /** Signals for the other workers, see `Carrier`. */
  | { readonly type: "signals"; readonly texts: readonly string[] }
  /** Asks all other workers. */
  | { readonly type: "ask"; readonly id: number; readonly question: string; readonly value: unknown }
  | { readonly type: "answer"; readonly id: number; readonly value: unknown };

export type ToWorker =
  | { readonly type: "opened"; readonly port: PortName; readonly answer: PortAnswer }
  | { readonly type: "store"; readonly answer: object }
  /** A connection, which is the handle of this message. */
  | { readonly type: "connection"; readonly id: number; readonly port: PortName }
  /** Asks for a confirmation that all connections up to this id have arrived. */
  | { readonly type: "check"; readonly upTo: number }
  | { readonly type: "signals"; readonly texts: readonly string[] }
  /** Holders whose processes have ended. */
  | { readonly type: "ended"; readonly holders: readonly string[] }
  /** Leaves new connections to the others, and ends without a failed call. */
  | { readonly type: "replace" }
  /** Ends as after this signal. */
  | { readonly type: "end"; readonly signal: NodeJS.Signals }
  /** Reads its files again. */
  | { readonly type: "reload" }
  | { readonly type: "question"; readonly id: number; readonly question: string; readonly value: unknown }
  | { readonly type: "answers"; readonly id: number; readonly values: readonly unknown[] };

/** The question for the metrics of a worker. The one that asks sends its own. */
export const METRICS_QUESTION = "metrics";

/** Environment variable that makes a process a worker; its value is a `WorkerRole`. */
export const WORKER_VARIABLE = "PARLEY_WORKER";

/** Facts that a worker has from its start. */
export interface WorkerRole {
  /** Counts the starts of workers, from 1. */
  readonly number: number;
  /** Number of workers at once. */
  readonly count: number;
  /** Descriptors of open sockets that the primary process was started with. */
  readonly sockets: { readonly http?: number; readonly grpc?: number };
}
