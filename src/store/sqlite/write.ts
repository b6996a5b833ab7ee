import type { Segment } from "../segment.js";
import type { AppendRequest, StoreError, TaskStore } from "../task-store.js";
import type { FileFault } from "./file-guard.js";
import type { ClaimedBatch } from "./push-rows.js";

/** The methods besides `append` that change the file. The writer executes those of one task in call order. */
export type WriteMethod =
  | "saveSnapshot"
  | "claimLeases"
  | "heartbeat"
  | "heartbeatForHolder"
  | "setLease"
  | "putPushConfig"
  | "rewritePushConfig"
  | "deletePushConfig"
  | "claimDeliveries"
  | "savePushPosition"
  | "completeDelivery"
  | "redriveDeliveries"
  | "rescheduleDeliveries"
  | "removeFinished"
  | "removeTasks";

/** Parameter of a method, as in the store interface. */
export type WriteRequest<M extends WriteMethod> = Parameters<TaskStore[RequestMethod<M>]>[0];

/**
 * Result of a method, as in the store interface, with these exceptions: a removal runs in steps, claims come as one
 * batch, and a completion as requested has no result, like an append.
 */
export type WriteResult<M extends WriteMethod> = M extends "removeFinished" | "removeTasks"
  ? RemovalStep
  : M extends "completeDelivery"
    ? "more" | "lost" | undefined
    : M extends "claimDeliveries"
      ? ClaimedBatch
      : Awaited<ReturnType<TaskStore[RequestMethod<M>]>>;

/** Writes of the thread itself are handled like requests. */
type RequestMethod<M extends WriteMethod> = M extends "heartbeatForHolder"
  ? "heartbeat"
  : Exclude<M, "heartbeatForHolder">;

export interface RemovalStep {
  readonly removed: number;
  /** True if rows of removed tasks remain to be deleted. */
  readonly more: boolean;
  /** True if the file has more free pages than worth keeping, which further steps return. */
  readonly spare: boolean;
}

/** Any of these methods with its request. */
export type OtherWrite = {
  [M in WriteMethod]: { readonly method: M; readonly request: WriteRequest<M> };
}[WriteMethod];

/** An append whose entries are already segments. */
export interface AppendWrite extends Omit<AppendRequest, "creates" | "entries" | "time"> {
  readonly method: "append";
  /** True if the task ends with this append. Set by the caller, because the file does not know the states. */
  readonly finishes: boolean;
  readonly segments: readonly Segment[];
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** One change of the file. */
export type Write = AppendWrite | OtherWrite;

/** A StoreError on its way between two threads, where its class is lost. */
type CarriedError = Pick<StoreError, "kind" | "message" | "remembered" | "tooManyOf">;

/** Outcome of one write: the method's result, or its error. */
export type WriteOutcome = { readonly result: unknown } | { readonly error: CarriedError };

/** Outcomes of the writes of one commit, in the order in which they were sent. */
export interface Reply {
  readonly count: number;
  /** Duration of the transaction with its sync, in milliseconds; absent if there was none, or another reply has it. */
  readonly ms?: number;
  /** Writes in the transaction, if it had some of other processes. */
  readonly of?: number;
  /** True for bulk writes, which are answered in a separate order. */
  readonly bulk?: true;
  /** Answers by index; a write without one succeeded and has no result. */
  readonly answers?: ReadonlyMap<number, WriteOutcome>;
  /** True if the disk failed on one of them. */
  readonly failed?: boolean;
  /** The fault of the files that lost the writes. */
  readonly lost?: FileFault;
  /** The reason why the file must not be written any more, after another program changed it. */
  readonly outgrown?: string;
}

/** The file is open, and the thread reads messages. */
export interface Started {
  readonly started: true;
}

/** Result of a probe: the fault in one sentence, or null. */
export interface Probed {
  readonly probed: string | null;
}

/** Any message of the writer thread. */
export type FromWriter = Reply | Started | Probed;
