import type {
  AppendRequest,
  Fence,
  IdempotencyKey,
  IdempotencyRecord,
  Lease,
  NewPushConfig,
  StoreError,
  StoreErrorKind,
  TaskRow,
  TaskStore,
} from "../task-store.js";
import type { FileFault } from "./file-guard.js";
import type { ClaimedBatch } from "./push-rows.js";
import type { Segment } from "./segment.js";

/** The methods besides `append` that change the file; the writer does those of a task in the order in which they were called. */
export type WriteMethod =
  | "saveSnapshot"
  | "claimLeases"
  | "beat"
  | "beatForIt"
  | "setLease"
  | "putPushConfig"
  | "rewritePushConfig"
  | "deletePushConfig"
  | "claimDeliveries"
  | "savePushPosition"
  | "settleDelivery"
  | "redriveDeliveries"
  | "hastenDeliveries"
  | "removeFinished";

/** What such a method takes, as the seam says it. */
export type WriteRequest<M extends WriteMethod> = Parameters<TaskStore[Asked<M>]>[0];

/**
 * What such a method answers, as the seam says it; but a removal is done in steps, claims come in one piece, and of a delivery that was settled as it was
 * asked for nothing is said, as of an append.
 */
export type WriteResult<M extends WriteMethod> = M extends "removeFinished"
  ? RemovalStep
  : M extends "settleDelivery"
    ? "more" | "lost" | undefined
    : M extends "claimDeliveries"
      ? ClaimedBatch
      : Awaited<ReturnType<TaskStore[Asked<M>]>>;

/** What the writer does by itself is handled like a request. */
type Asked<M extends WriteMethod> = M extends "beatForIt" ? "beat" : Exclude<M, "beatForIt">;

/** What one step of a removal did. */
export interface RemovalStep {
  /** How many tasks are gone. */
  readonly removed: number;
  /** Whether there is more to be taken away of tasks that are gone. */
  readonly more: boolean;
  /** Whether the file has more free pages than are worth keeping, which further steps give back. */
  readonly spare: boolean;
}

/** Any of them, ready to be done. */
export type OtherWrite = {
  [M in WriteMethod]: { readonly method: M; readonly request: WriteRequest<M> };
}[WriteMethod];

/** An append, ready to be done: entries are segments by now. */
export interface AppendWrite {
  readonly method: "append";
  readonly head: TaskRow;
  readonly expected: AppendRequest["expected"];
  /** Whether the task ends with this append. The caller knows the states; the file only knows that it is over. */
  readonly finishes: boolean;
  readonly fence: Fence | undefined;
  readonly lease: Lease | undefined;
  readonly segments: readonly Segment[];
  readonly send: (IdempotencyKey & IdempotencyRecord) | undefined;
  readonly pushConfig: NewPushConfig | undefined;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** One change of the file. */
export type Write = AppendWrite | OtherWrite;

/** An error on its way between two threads, where classes do not survive. */
export interface CarriedError {
  readonly kind: StoreErrorKind;
  readonly message: string;
  readonly remembered: IdempotencyRecord | undefined;
  readonly tooManyOf: StoreError["tooManyOf"];
}

/** What became of one write: the method's result, or why it was refused. */
export type Answer = { readonly result: unknown } | { readonly error: CarriedError };

/** What became of the writes of one commit, in the order in which they were sent. */
export interface Reply {
  readonly count: number;
  /** Whether it is about bulk writes, which are answered in an order of their own. */
  readonly bulk?: true;
  /** Answers by index; a write that is not named here was done and has no result. */
  readonly answers?: ReadonlyMap<number, Answer>;
  /** Whether the disk failed over one of them. */
  readonly failed?: boolean;
  /** The fault of the files for which the writes are lost. */
  readonly lost?: FileFault;
  /** What another program did to the file, which may not be written any more. */
  readonly outgrown?: string;
}

/** The file is open, and messages are read. */
export interface Started {
  readonly started: true;
}

/** What came of a probe: one sentence on what is wrong, or null. */
export interface Probed {
  readonly probed: string | null;
}

/** All that the writer's thread says. */
export type FromWriter = Reply | Started | Probed;
