import type { TaskScope } from "./task-head.js";

/**
 * Part of the store interface for push notifications (specification 3.1.7): configurations, delivery positions, and
 * claims of deliveries.
 *
 * A configuration is a cursor over the log of its task. It is `idle` while everything is delivered, `due` when entries
 * are undelivered (with the time of the next attempt), and `dead` after deliveries were given up. An append to a task
 * with configurations makes the idle ones due in its own transaction, so that a crash loses no delivery; tasks without
 * configurations pay nothing. At most one live process holds a due configuration. Each of its writes names its claim,
 * and returns `lost` after a newer claim.
 *
 * An idle configuration of a finished task will never be due again, and counts towards no limit.
 */
export interface PushStore {
  /**
   * Creates or replaces a push configuration. A new one begins at the end of the task's log and gets only later
   * entries. A replaced one keeps its position and loses its holder and its failures; its undelivered entries are due
   * at `now`, even if it was dead. A replacement never exceeds a limit.
   */
  putPushConfig(request: PutPushConfig): Promise<PutPushOutcome>;
  /** One push configuration, or undefined. */
  getPushConfig(request: PushConfigKey): Promise<StoredPushConfig | undefined>;
  /** A task's push configurations after an id, ordered by the UTF-8 bytes of their ids. */
  listPushConfigs(request: {
    readonly taskId: string;
    readonly after: string;
    readonly limit: number;
  }): Promise<{ readonly configId: string; readonly config: StoredPushConfig }[]>;
  /**
   * The configurations of all tasks, page by page, ordered by the UTF-8 bytes of task id and configuration id: to
   * inspect the stored bytes, and to rewrite them.
   */
  scanPushConfigs(request: {
    /** The key at which the last page ended. */
    readonly after?: PushConfigKey;
    readonly limit: number;
  }): Promise<(PushConfigKey & { readonly bytes: Uint8Array })[]>;
  /**
   * Replaces the bytes of a configuration, unless they differ from `from` by now. Its deliveries are not affected.
   * @returns true if the bytes were replaced
   */
  rewritePushConfig(request: RewritePushConfig): Promise<boolean>;
  /** Removes a push configuration with its position, if present. Its holder gets `lost`. */
  deletePushConfig(request: PushConfigKey): Promise<void>;

  /**
   * Assigns to `holder` configurations that are due at `now` and that no live process holds: from each target the
   * longest due first. If more are due than requested, half of the claim goes to the longest due, and targets take
   * turns at the other half. Liveness is measured as for leases (`heartbeat`, `claimLeases`), also by calls of this method.
   * Opening a store that is not shared releases all claims. Two holders never get the same configuration.
   * @returns at most `limit`, possibly fewer although more are due: `nextDelivery` tells
   */
  claimDeliveries(request: ClaimDeliveries): Promise<ClaimedDelivery[]>;

  /** The time, possibly in the past, at which the next unheld configuration is due, or undefined. */
  nextDelivery(): Promise<number | undefined>;

  /**
   * Records that everything up to `position` was delivered, if the claim is still current. A position below the
   * recorded one is ignored. Progress resets `attempts` to 0 and `failingSince` to undefined.
   */
  savePushPosition(request: DeliveryProgress): Promise<"saved" | "lost">;

  /**
   * Ends a claim with `outcome`, and records the position as `savePushPosition` does. `more`: the outcome was `done`
   * but the log has later entries; the position is recorded and the claim stays. `lost`: nothing was changed.
   */
  completeDelivery(
    request: DeliveryProgress & { readonly outcome: DeliveryOutcome },
  ): Promise<"more" | "completed" | "lost">;

  /**
   * Reschedules deliveries that are due later than `latest` to `to`; a held one when its holder releases it. A clock
   * that ran ahead can leave such times in the store.
   * @returns the number of rescheduled deliveries
   */
  rescheduleDeliveries(request: RescheduleDeliveries): Promise<number>;

  /** Dead configurations, ordered by task id and configuration id. */
  listDeadDeliveries(request: DeadDeliveryRequest): Promise<DeadDelivery[]>;

  /**
   * Lists configurations with the state of their deliveries, ordered by the UTF-8 bytes of task id and configuration id.
   * A page costs the examination of at most 1,000 configurations, however many exist: it may be short or empty although
   * more follow.
   */
  listDeliveries(request: ListDeliveries): Promise<DeliveryPage>;

  /**
   * The stored failed attempts of a configuration, newest first: the last 20. They outlast successes and redrives. A
   * replaced configuration starts without any.
   */
  listAttempts(request: PushConfigKey): Promise<FailedAttempt[]>;

  /**
   * Makes dead configurations due at `now`, from their positions and without their failures: the named ones, or all that
   * match the filters. With `keys`, filters have no effect, and those among the named that are due later and that no
   * process holds become due at `now` as well, with their failures.
   * @returns the number of changed configurations
   */
  redriveDeliveries(request: RedriveDeliveries): Promise<number>;
}

/** Key of a push configuration (specification 3.1.7). */
export interface PushConfigKey {
  readonly taskId: string;
  readonly configId: string;
}

/** A push configuration to store. */
export interface NewPushConfig {
  readonly configId: string;
  /** Opaque to the store. */
  readonly bytes: Uint8Array;
  /** Destination of the deliveries, for quotas per target (`ClaimDeliveries.capacity`). */
  readonly target: string;
  /** Maximum number of configurations of a task. */
  readonly maxPerTask: number;
  /** Maximum number of an owner's configurations, idle ones of finished tasks aside. */
  readonly maxPerOwner: number;
  /** True to count the owner's configurations under other tenants as well. Default false. */
  readonly ofAllTenants?: boolean;
}

/** A configuration of an existing task. */
export interface PutPushConfig extends NewPushConfig {
  readonly taskId: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** New bytes of an existing configuration. */
export interface RewritePushConfig extends PushConfigKey {
  /** The stored bytes, as the caller knows them. */
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** Result of storing a configuration. Anything but `put` stored nothing. */
export type PutPushOutcome = "put" | "too-many-of-task" | "too-many-of-owner" | "no-task";

/** A push configuration with the position of its deliveries. */
export interface StoredPushConfig {
  readonly bytes: Uint8Array;
  /** Entries up to this position were delivered, or precede the configuration. */
  readonly position: number;
}

/** Request of a process for up to `limit` deliveries. */
export interface ClaimDeliveries {
  readonly holder: string;
  /** Time without a heartbeat after which a holder loses its claims, in milliseconds. */
  readonly leaseMs: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly limit: number;
  /**
   * Maximum number claimed of each target named in `of`, and of each other target. Deliveries beyond it stay due and do
   * not delay other targets. Default: unlimited.
   */
  readonly capacity?: { readonly of: ReadonlyMap<string, number>; readonly others: number };
  /**
   * True to return everything that `holder` already holds as well, under new claim numbers and beyond the limit: for a
   * claim whose response was lost. Default false.
   */
  readonly again?: boolean;
}

/** Deliveries whose due time is too late. Times are milliseconds since the epoch. */
export interface RescheduleDeliveries {
  readonly latest: number;
  readonly to: number;
}

interface DeliveryPlace extends PushConfigKey, TaskScope, Pick<StoredPushConfig, "position"> {
  readonly target: string;
  /** Position of the last entry of its task: entries after `position` are undelivered. */
  readonly headPosition: number;
}

/** A delivery that a process has claimed. */
export interface ClaimedDelivery extends DeliveryPlace, StoredPushConfig {
  /** Position of the last entry of its task when it was claimed. */
  readonly headPosition: number;
  /** Failed attempts since the last progress. */
  readonly attempts: number;
  /** Time of the first of them, in milliseconds since the epoch. */
  readonly failingSince: number | undefined;
  /** Identifies this claim: every claim of the same configuration has a different number. */
  readonly claim: number;
}

/** Position that a holder has reached in a claimed delivery. */
export interface DeliveryProgress {
  readonly key: PushConfigKey;
  readonly holder: string;
  /** `ClaimedDelivery.claim`. */
  readonly claim: number;
  /** Everything up to this position was delivered. */
  readonly position: number;
}

/** Outcome of a claimed delivery. Times are milliseconds since the epoch. */
export type DeliveryOutcome =
  /** Everything that the holder knows of was delivered. */
  | { readonly kind: "done" }
  /** An attempt failed and counts in `attempts`. `failure` gives the reason, for people. */
  | {
      readonly kind: "retry";
      readonly at: number;
      readonly failure: string;
      readonly failingSince: number;
      /** The failed attempt, stored with the outcome for `listAttempts`. Default: nothing was sent. */
      readonly attempt?: AttemptFacts | undefined;
    }
  /** Postponed without an attempt. `failure` and `failingSince`, if given, are recorded as after an attempt. */
  | { readonly kind: "later"; readonly at: number; readonly failure?: string; readonly failingSince?: number }
  /** Given up. The configuration and its position are kept, for inspection and for a redrive. */
  | {
      readonly kind: "dead";
      readonly at: number;
      readonly failure: string;
      /** The failed attempt, as for `retry`. */
      readonly attempt?: AttemptFacts | undefined;
    };

/** One attempt to deliver one event. */
export interface AttemptFacts {
  /** Its start, in milliseconds since the epoch. */
  readonly time: number;
  readonly durationMs: number;
  /** Generation of the event. */
  readonly generation: number;
  /** HTTP status of the answer; 0 without one. */
  readonly status: number;
  /** Beginning of the answer's body as printable text, at most 512 bytes in UTF-8. */
  readonly answer: string;
}

/** A failed attempt as it is stored. */
export interface FailedAttempt extends AttemptFacts {
  /** Reason, for people. */
  readonly failure: string;
  /** The process that made it. */
  readonly holder: string;
}

/** State of a configuration's deliveries: see `PushStore`. */
export type DeliveryStateName = "idle" | "due" | "dead";

/** Absent filters do not restrict. */
interface DeliveryFilter {
  readonly tenant?: string | undefined;
  readonly owner?: string | undefined;
  readonly target?: string | undefined;
}

/** Selects configurations by their deliveries. */
export interface ListDeliveries extends DeliveryFilter {
  /** Only configurations in one of these states. Empty: no restriction. */
  readonly states?: readonly DeliveryStateName[] | undefined;
  readonly taskId?: string | undefined;
  /** The key at which the last page ended. */
  readonly after?: PushConfigKey | undefined;
  readonly limit: number;
}

/** A page of deliveries. */
export interface DeliveryPage {
  readonly deliveries: readonly StoredDelivery[];
  /** The key after which the next page begins; undefined on the last page. */
  readonly next: PushConfigKey | undefined;
}

/** A configuration with the state of its deliveries. Times are milliseconds since the epoch. */
export interface StoredDelivery extends DeliveryPlace {
  readonly state: DeliveryStateName;
  /** Failed attempts since the last progress. */
  readonly attempts: number;
  /** Reason of the last failure; empty without one. */
  readonly failure: string;
  /** Time of the first failed attempt since the last progress. */
  readonly failingSince: number | undefined;
  /** Time of the next attempt if due, of giving up if dead; undefined if idle. */
  readonly at: number | undefined;
  /** The process that delivers it at present. */
  readonly holder: string | undefined;
}

/** Selects configurations to deliver again at once. */
export interface RedriveDeliveries extends DeliveryFilter {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly keys?: readonly PushConfigKey[] | undefined;
}

/** Filter of dead deliveries. */
export interface DeadDeliveryRequest extends DeliveryFilter {
  /** The key at which the last page ended. */
  readonly after?: PushConfigKey;
  readonly limit: number;
}

/** A dead push configuration. Times are milliseconds since the epoch. */
export interface DeadDelivery extends DeliveryPlace, StoredPushConfig {
  readonly failure: string;
  /** Time of the first failed attempt; undefined if no earlier attempt failed. */
  readonly failingSince: number | undefined;
  /** Time at which it was given up. */
  readonly at: number;
}
