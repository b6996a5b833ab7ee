/**
 * Part of the store interface for push notifications (specification 3.1.7): configurations, positions of deliveries,
 * and the processes that deliver.
 *
 * A configuration is a cursor over the log of its task, with one position. It is `idle` while nothing is undelivered,
 * `due` when something is (with the time of the next try), and `dead` when deliveries were given up. An append to a task that has
 * configurations makes the idle ones due in its own transaction, so that no crash loses a delivery; it costs tasks without
 * configurations nothing. At most one living process at a time holds a configuration that is due. Everything that it
 * writes names its claim, and is `lost` once there is another claim.
 *
 * One that is idle and whose task is over will never be due again. It counts for no owner's limit.
 */
export interface PushStore {
  /**
   * Creates or replaces a push configuration. A new one begins at the end of the task's log: it gets what comes after it. A
   * replaced one keeps its position and loses its holder and its failures; what is undelivered is due at `now`,
   * also when it was given up. One that is replaced is never too many.
   */
  putPushConfig(request: PutPushConfig): Promise<PutPushOutcome>;
  /** One push configuration, or undefined. */
  getPushConfig(request: PushConfigKey): Promise<StoredPushConfig | undefined>;
  /** A task's push configurations after an id, in the order of their ids by their UTF-8 bytes. */
  listPushConfigs(request: {
    readonly taskId: string;
    readonly after: string;
    readonly limit: number;
  }): Promise<{ readonly configId: string; readonly config: StoredPushConfig }[]>;
  /**
   * The configurations of all tasks, in the order of their tasks' ids and their own by their UTF-8 bytes, page by page: to look at
   * what is stored of each, and to store it in another way.
   */
  scanPushConfigs(request: {
    /** Where the last page ended. */
    readonly after?: PushConfigKey;
    readonly limit: number;
  }): Promise<(PushConfigKey & { readonly bytes: Uint8Array })[]>;
  /**
   * Stores the same configuration in other bytes, unless it was changed since they were `from`. Its deliveries go on as they are.
   * @returns whether it was done
   */
  rewritePushConfig(request: RewritePushConfig): Promise<boolean>;
  /** Removes a push configuration with its position; nothing happens when it is not there. Who delivers meets `lost`. */
  deletePushConfig(request: PushConfigKey): Promise<void>;

  /**
   * Gives configurations that are due at `now`, and that no living process holds, to `holder`: of each target the longest due first.
   * Where more is due than it asks for, half of that is what is due the longest, and half has targets take turns. Who lives is known as for leases (`beat`, `claimLeases`); calls of this look as well. A store that is not shared has nothing held when it is
   * opened. Two holders never get the same one.
   * @returns at most `limit`, perhaps fewer although more are due: `nextDelivery` says so
   */
  claimDeliveries(request: ClaimDeliveries): Promise<ClaimedDelivery[]>;

  /** When the next configuration that no process holds is due, which may be in the past, or undefined. */
  nextDelivery(): Promise<number | undefined>;

  /**
   * Records that everything up to `position` was delivered, while the claim is still the stored one; a lower position
   * than the recorded one is ignored. Progress ends the failures before it: `attempts` is 0 then, `failingSince` undefined.
   */
  savePushPosition(request: DeliveryProgress): Promise<"saved" | "lost">;

  /**
   * Ends a claim as `outcome` says, with the position as `savePushPosition` records it. `more`: the log goes on behind
   * the position of one that is `done`; the position is recorded and the claim stays. `lost`: nothing was changed.
   */
  settleDelivery(
    request: DeliveryProgress & { readonly outcome: DeliveryOutcome },
  ): Promise<"more" | "settled" | "lost">;

  /**
   * Makes what is due later than `latest` due at `to`, whoever holds it: of what is held that counts when its holder lets go of it. For
   * times that a wrong clock has left.
   * @returns how many
   */
  hastenDeliveries(request: HastenDeliveries): Promise<number>;

  /** Configurations whose deliveries were given up, in the order of their tasks' ids and their own. */
  listDeadDeliveries(request: DeadDeliveryRequest): Promise<DeadDelivery[]>;

  /**
   * Makes configurations whose deliveries were given up due at `now`, from where they were, without their failures: the named
   * ones, or all. @returns how many
   */
  redriveDeliveries(request: { readonly now: number; readonly keys?: readonly PushConfigKey[] }): Promise<number>;
}

/** Key of a push configuration (specification 3.1.7). */
export interface PushConfigKey {
  readonly taskId: string;
  readonly configId: string;
}

/** A push configuration to store. */
export interface NewPushConfig {
  readonly configId: string;
  /** What the caller makes of it: opaque here. */
  readonly bytes: Uint8Array;
  /** Where deliveries go, so that no target takes what others need (`ClaimDeliveries.room`). */
  readonly target: string;
  /** How many configurations a task may have. */
  readonly maxPerTask: number;
  /** How many configurations an owner may have that are not over: idle, of a task that has ended. */
  readonly maxPerOwner: number;
  /** Whether those that the owner has under other tenants count as well. Default false. */
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
  /** What is stored, as far as the caller knows. */
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** Result of storing a configuration. Nothing is stored unless it is `put`. */
export type PutPushOutcome = "put" | "too-many-of-task" | "too-many-of-owner" | "no-task";

/** A push configuration with the position of its deliveries. */
export interface StoredPushConfig {
  readonly bytes: Uint8Array;
  /** Entries up to here were delivered, or lie before the configuration. */
  readonly position: number;
}

/** Request of a process for up to `limit` deliveries. */
export interface ClaimDeliveries {
  readonly holder: string;
  /** How long a holder has to show no life before it has lost what it holds, in milliseconds. */
  readonly leaseMs: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly limit: number;
  /**
   * How many of a target are claimed at the most, and of each of those that are not named. What is due of it beyond that stays as it
   * is, and keeps nothing from other targets. Default: any number.
   */
  readonly room?: { readonly of: ReadonlyMap<string, number>; readonly others: number };
  /**
   * Gives all that `holder` has already as well, under a new number each, whatever the limit: for a claim of which no answer
   * came. Default false.
   */
  readonly again?: boolean;
}

/** Deliveries whose due time is too late. Times are milliseconds since the epoch. */
export interface HastenDeliveries {
  readonly latest: number;
  readonly to: number;
}

/** A delivery that a process has claimed. */
export interface ClaimedDelivery extends PushConfigKey, StoredPushConfig {
  readonly tenant: string;
  readonly owner: string;
  readonly target: string;
  /** Position of the last entry of its task when it was claimed. */
  readonly headPosition: number;
  /** Failed tries since the last progress. */
  readonly attempts: number;
  /** When the first of them was, in milliseconds since the epoch. */
  readonly failingSince: number | undefined;
  /** Names this claim: another one of the same configuration has another number, whoever has it. */
  readonly claim: number;
}

/** Position that a holder has reached in a claimed delivery. */
export interface DeliveryProgress {
  readonly key: PushConfigKey;
  readonly holder: string;
  /** `ClaimedDelivery.claim`. */
  readonly claim: number;
  /** Everything up to here was delivered. */
  readonly position: number;
}

/** Outcome of a claimed delivery. Times are milliseconds since the epoch. */
export type DeliveryOutcome =
  /** All that the holder knows of was delivered. */
  | { readonly kind: "done" }
  /** A try failed: one more of `attempts`. `failure` says why, for people. */
  | { readonly kind: "retry"; readonly at: number; readonly failure: string; readonly failingSince: number }
  /** Nothing was tried. The other two, where they are given, are recorded as those of a try. */
  | { readonly kind: "later"; readonly at: number; readonly failure?: string; readonly failingSince?: number }
  /** Given up. It is kept with what is undelivered, for looking at it and for another try. */
  | { readonly kind: "dead"; readonly at: number; readonly failure: string };

/** Filter of deliveries that were given up. */
export interface DeadDeliveryRequest {
  readonly tenant?: string;
  readonly owner?: string;
  /** Where the last page ended. */
  readonly after?: PushConfigKey;
  readonly limit: number;
}

/** A push configuration that was given up. Times are milliseconds since the epoch. */
export interface DeadDelivery extends PushConfigKey, StoredPushConfig {
  readonly tenant: string;
  readonly owner: string;
  readonly target: string;
  /** Position of the last entry of its task: what is behind `position` is undelivered. */
  readonly headPosition: number;
  readonly failure: string;
  /** When the failures began; undefined when there was none before. */
  readonly failingSince: number | undefined;
  /** When it was given up. */
  readonly at: number;
}
