import type { TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { Audit } from "../audit/audit.js";
import type { AuditEvent } from "../audit/events.js";
import { pause } from "../core/async.js";
import type { Limits } from "../core/limits.js";
import type { ClaimedDelivery, PushConfigKey } from "../store/task-store.js";
import { millisOf } from "../task/entry.js";
import type { Tracing } from "../telemetry/tracing.js";
import type { PushDialectOf } from "../version/load.js";
import type { PushDialect } from "../version/version.js";
import { type AttemptRing, toAttempt } from "./attempt-history.js";
import { DeliveryCause } from "./delivery-cause.js";
import type { DispatcherOptions } from "./dispatcher-options.js";
import type { EventFilter } from "./event-filter.js";
import type { Host } from "./host-limiter.js";
import type { LeaseGuard } from "./lease-guard.js";
import { type HeaderParts, NotificationHeaders, notificationBody } from "./notification.js";
import type { Ending } from "./outcome.js";
import { tracedPost } from "./post-span.js";
import type { OpenedConfig } from "./secrets.js";
import { attemptOf, type BufferSpace, logFailure, noteFailure, spaceOf } from "./sent.js";
import type { Breakable, PostOutcome } from "./target/post.js";
import type { Target } from "./target/target-url.js";
import type { PastFolds } from "./task-bodies.js";
import { TaskBodies } from "./task-bodies.js";

/** Interval of saving the position, in milliseconds: a crash repeats the notifications since the last save. */
const SAVE_MS = 200;

/**
 * Time slice of a delivery when others wait for its slot, in milliseconds, so that a large backlog does not starve
 * them.
 */
const SLICE_MS = 5_000;

/**
 * Maximum age of the store's last confirmation of a claim, in milliseconds. An older one is checked again, so that a
 * deleted or replaced configuration is not used.
 */
const CONFIRM_MS = 1_000;

/** Dependencies shared by all deliveries. */
export interface DeliveryParts
  extends HeaderParts,
    BufferSpace,
    Pick<DispatcherOptions, "store" | "pushes" | "poster" | "logger"> {
  readonly wanted: EventFilter;
  /** The filter for configurations of other protocol versions. */
  readonly wantedWithTask: EventFilter;
  readonly dialectOf: PushDialectOf;
  /** Notifications up to this size never wait for buffer space: all of them together are small. */
  readonly smallBytes: number;
  /** The last tasks sent to configurations of other versions. */
  readonly folds: PastFolds;
  readonly leaseGuard: LeaseGuard;
  /** The last attempts that are not stored. */
  readonly attempts: AttemptRing;
  readonly audit: Audit;
  /** Returns the name of the agent that serves a tenant, for log lines. */
  readonly agentName: (tenant: string) => string | undefined;
  /** Creates spans of attempts. Undefined to create none. */
  readonly tracing: Tracing | undefined;
  readonly limits: Pick<Limits, "pushTimeoutMs">;
  /** Counts an attempt. @param ms its duration */
  readonly count: (outcome: PostOutcome, ms: number) => void;
  /** Starts deliveries that wait for a host, after one of its slots became free. */
  readonly freed: (host: Host<Delivery>) => void;
  /** Fires at shutdown: nothing more may start. */
  readonly shutdown: AbortSignal;
  /** Logs an error of the store whose operation is retried anyway. */
  readonly noteTrouble: (error: unknown) => void;
}

interface DeliveryTask {
  readonly claimed: ClaimedDelivery;
  readonly opened: OpenedConfig;
  readonly target: Target;
  readonly host: Host<Delivery>;
  /** `LeaseGuard.epoch` at the time of the claim request. */
  readonly epoch: number;
}

/** Outcome while this process is unsure of its claims: it is sure again a moment later, or another process has them. */
const unsure: Ending = { kind: "later", ms: 1_000 };

/** A notification whose answer has come. */
interface SentRequest {
  /** Start, by `performance.now()`. */
  readonly begin: number;
  readonly generation: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Delivers to one configuration: reads the task's log from its position and sends the notifications one by one, in
 * order, until the end or a failure. The position advances after a 2xx response and is saved later: after a crash the
 * unsaved ones are sent again, under the same ids.
 */
export class Delivery {
  readonly claimed: ClaimedDelivery;
  readonly host: Host<Delivery>;
  readonly key: PushConfigKey;
  /** See `deliveryKey`. */
  readonly name: string;
  readonly cause: DeliveryCause;
  /** True once it has stopped and its outcome is being stored. */
  isOver = false;
  /** True after its claim is lost: it sends nothing more. */
  isLost = false;
  /** A claim of the same configuration, with changed contents, that starts after this delivery has ended. */
  successor: { readonly claimed: ClaimedDelivery; readonly epoch: number } | undefined;
  /** The current or last request to the receiver. */
  request: Breakable | undefined;
  /** Start of the current request, by `performance.now()`; undefined without one. */
  #askedAt: number | undefined;
  /** Ends the probe of an unproven host; called after its first success, and at the end. */
  endProbe: () => void = () => {};
  readonly #parts: DeliveryParts;
  readonly #headers: NotificationHeaders;
  readonly #config: TaskPushNotificationConfig;
  readonly #target: Target;
  readonly #wanted: EventFilter;
  /** Undefined if notifications are in the service's own version. */
  readonly #tasks: TaskBodies | undefined;
  #claim: number;
  #position: number;
  #progressed = false;
  /** The error of the last request, if it got no complete response. */
  #error: Error | undefined;
  #epoch: number;
  /** Position of the last entry, as of the claim, until the log was read that far. */
  #last: number | undefined;
  /** Time of its start or last save; while it waits for a slot there is nothing to save. */
  #savedAt = 0;
  #saving = false;
  /** Time of the store's last confirmation of the claim. */
  #confirmedAt = performance.now();

  constructor(parts: DeliveryParts, { claimed, opened, target, host, epoch }: DeliveryTask) {
    this.#parts = parts;
    this.claimed = claimed;
    this.host = host;
    this.key = { taskId: claimed.taskId, configId: claimed.configId };
    this.name = deliveryKey(claimed);
    this.#claim = claimed.claim;
    this.#position = claimed.position;
    this.#last = claimed.headPosition;
    this.#headers = new NotificationHeaders(parts, this.key, opened.config);
    this.#config = opened.config;
    this.#tasks = opened.version === "" ? undefined : new TaskBodies(parts, claimed, opened.version, this.name);
    this.#target = target;
    this.#wanted = opened.version === "" ? parts.wanted : parts.wantedWithTask;
    this.cause = new DeliveryCause(parts, claimed, this.#wanted);
    this.#epoch = epoch;
  }

  get claim(): number {
    return this.#claim;
  }

  /** Everything up to this position was delivered or needs no notification. */
  get position(): number {
    return this.#position;
  }

  /** True if a notification was accepted since the claim. */
  get progressed(): boolean {
    return this.#progressed;
  }

  /**
   * Handles another claim of the configuration by this process. An unchanged configuration continues under the new
   * number; one that was replaced or recreated needs a successor.
   */
  renew(claimed: ClaimedDelivery, epoch: number): void {
    if (!this.isLost && Buffer.compare(claimed.bytes, this.claimed.bytes) === 0) {
      this.#claim = claimed.claim;
      return;
    }
    this.isLost = true;
    this.successor = { claimed, epoch };
  }

  /**
   * Delivers the log entries after the position.
   * @param isPressed tells if other deliveries wait for its slot
   */
  async run(isPressed: () => boolean): Promise<Ending> {
    try {
      return await this.#deliver(isPressed);
    } finally {
      // The store may have lost the task that was sent last.
      if (this.isLost) this.#parts.folds.drop(this.name);
      else this.#tasks?.rest();
    }
  }

  async #deliver(isPressed: () => boolean): Promise<Ending> {
    const { pushes, shutdown } = this.#parts;
    const { taskId, tenant, owner } = this.claimed;
    const begin = performance.now();
    this.#savedAt = begin;
    const last = this.#last;
    this.#last = undefined;
    for await (const page of pushes.readEntries({ taskId, tenant, owner, after: this.#position, last })) {
      for (const entry of page) {
        if (this.isLost) return { kind: "lost" };
        if (shutdown.aborted) return { kind: "later", ms: 0 };
        // The last entry's position is stored with the outcome instead.
        this.#saveSoon();
        this.#tasks?.note(entry);
        this.cause.note(entry);
        if (this.#wanted(entry)) {
          const now = performance.now();
          if (now - begin > SLICE_MS && isPressed()) return { kind: "later", ms: 0 };
          const waitMs = this.host.pace(now);
          if (waitMs > 0) await pause(waitMs, shutdown, true);
          const ending = await this.#send(entry);
          if (ending !== undefined) return ending;
        }
        this.#position = entry.position;
      }
    }
    return { kind: this.isLost ? "lost" : "done" };
  }

  /**
   * Aborts a notification that has taken longer than `ms`, when others cannot start. Notifications to unproven hosts
   * keep their time: they are few, and slow hosts also have to get theirs.
   */
  breakOffSlow(ms: number): void {
    const { host } = this;
    if (this.#askedAt === undefined || !host.isHealthy || performance.now() - this.#askedAt < ms) return;
    this.request?.breakOff(`there was no answer within ${ms} ms, and others waited for their turn`);
  }

  /** Sends the notification of an entry. @returns undefined when it was accepted */
  #send(entry: LogEntry): Promise<Ending | undefined> | Ending | undefined {
    if (this.#parts.shutdown.aborted) return { kind: "later", ms: 0 };
    if (this.#tasks !== undefined) return this.#sendTask(entry, this.#tasks);
    const body = notificationBody(entry);
    if (body === undefined) return undefined;
    // Characters instead of bytes: counting bytes would cost as much as sending them.
    const bytes = body.length;
    return bytes <= this.#parts.smallBytes ? this.#sendBody(entry, body) : this.#sendLarge(entry, bytes, () => body);
  }

  async #sendTask(entry: LogEntry, tasks: TaskBodies): Promise<Ending | undefined> {
    const found = await tasks.at(entry);
    if (typeof found === "string") return { kind: "failed", failure: found, retryAfterMs: 0, gone: false };
    const { dialect, task, bytes } = found;
    const write = (): string => dialect.write(task);
    return bytes <= this.#parts.smallBytes
      ? this.#sendBody(entry, write(), dialect)
      : this.#sendLarge(entry, bytes, write, dialect);
  }

  /** @param write makes the body once there is buffer space */
  async #sendLarge(
    entry: LogEntry,
    bytes: number,
    write: () => string,
    dialect?: PushDialect,
  ): Promise<Ending | undefined> {
    const space = spaceOf(this.#parts, this.host);
    const free = space.acquire(bytes);
    try {
      if (free !== undefined) await free;
      return await this.#sendBody(entry, write(), dialect);
    } finally {
      space.release(bytes);
    }
  }

  async #sendBody(entry: LogEntry, body: string, dialect?: PushDialect): Promise<Ending | undefined> {
    const { poster, limits, leaseGuard, shutdown } = this.#parts;
    // Awaits only real promises: each await takes as long as writing a header.
    const made = this.#headers.of(entry, body, dialect);
    const headers = made instanceof Promise ? await made : made;
    if (!this.#isSureNow && !(await this.#isSure())) return this.isLost ? { kind: "lost" } : unsure;
    if (shutdown.aborted) return { kind: "later", ms: 0 };
    const begin = performance.now();
    const { signal } = leaseGuard;
    this.#askedAt = begin;
    this.#error = undefined;
    this.cause.noteSent(entry);
    const send = (): Promise<PostOutcome> =>
      poster.post({
        target: this.#target,
        watch: this,
        headers,
        body,
        timeoutMs: limits.pushTimeoutMs,
        signal,
        isAllowed: signal && this.#isAllowed,
        noteError: this.#noteError,
      });
    const { generation, traceParent, turn } = entry;
    const trace = { traceParent, traceState: turn?.traceState ?? "" };
    const attempt = { trace, time: millisOf(entry.time), generation, target: this.#target, headers, send };
    const outcome = await tracedPost(this.#parts.tracing, this.claimed, attempt);
    this.#askedAt = undefined;
    return this.#answered(outcome, { begin, generation, signal });
  }

  /** Called once connected. */
  readonly #isAllowed = (): boolean => this.#parts.leaseGuard.isSure && !this.isLost;

  readonly #noteError = (error: Error): void => {
    this.#error = error;
  };

  #answered(outcome: PostOutcome, { begin, generation, signal }: SentRequest): Promise<Ending> | Ending | undefined {
    const { count, leaseGuard, shutdown, attempts } = this.#parts;
    const now = performance.now();
    const made = attemptOf({ key: this.key, config: this.#config, outcome, generation, begin, now, byOperator: false });
    if (outcome.kind === "accepted") {
      attempts.add(made);
      count(outcome, now - begin);
      this.#progressed = true;
      this.endProbe();
      if (this.host.succeeded(now - begin)) this.#parts.freed(this.host);
      return undefined;
    }
    // A request that this process aborts is not a failure of the receiver.
    if (outcome.kind === "failed" && shutdown.aborted) return { kind: "later", ms: 0 };
    if (outcome.kind === "failed" && (signal?.aborted || !leaseGuard.isSure)) return unsure;
    count(outcome, now - begin);
    const events = noteFailure(outcome, this.host, now);
    const { failure, ...attempt } = toAttempt(made);
    const { retryAfterMs = 0, gone } = outcome.kind === "refused" ? outcome : { gone: false };
    return this.#logged({ kind: "failed", failure, retryAfterMs, gone, attempt }, events);
  }

  /** Logs a failure, with its audit events, by the request that caused it. */
  async #logged(ending: Extract<Ending, { kind: "failed" }>, events: readonly AuditEvent[]): Promise<Ending> {
    await this.cause.complete();
    const facts = { host: this.#target.host, failure: ending.failure, error: this.#error, events };
    logFailure(this.#parts, this, facts);
    return ending;
  }

  /**
   * True if this process still has the delivery, as far as it can know. If it was evicted or is not sure, it sends a
   * heartbeat and checks its claim.
   */
  async #isSure(): Promise<boolean> {
    const { pushes, leaseGuard } = this.#parts;
    while (!this.isLost && !this.#isSureNow) {
      try {
        if (!leaseGuard.isSure) await pushes.heartbeat();
        const { epoch } = leaseGuard;
        await this.#save();
        this.#epoch = epoch;
      } catch (error) {
        this.#parts.noteTrouble(error);
        return false;
      }
    }
    return !this.isLost;
  }

  get #isSureNow(): boolean {
    const { leaseGuard } = this.#parts;
    if (this.isLost || !leaseGuard.isSure || this.#epoch !== leaseGuard.epoch) return false;
    return performance.now() - this.#confirmedAt <= CONFIRM_MS;
  }

  /** Saves the position from time to time during the delivery. */
  #saveSoon(): void {
    if (this.#saving || this.isLost) return;
    const now = performance.now();
    if (now - this.#savedAt < SAVE_MS) return;
    this.#savedAt = now;
    this.#saving = true;
    this.#save()
      .catch(this.#parts.noteTrouble)
      .finally(() => {
        this.#saving = false;
      });
  }

  async #save(): Promise<void> {
    const { store, pushes } = this.#parts;
    const { key, claim, position } = this;
    const outcome = await store.savePushPosition({ key, holder: pushes.holder, claim, position });
    if (outcome === "saved") this.#confirmedAt = performance.now();
    // A claim renewed meanwhile has another number.
    else if (claim === this.#claim) this.isLost = true;
  }
}

/** Unique name of a configuration. */
export function deliveryKey({ taskId, configId }: PushConfigKey): string {
  // The task's id comes last, because `TransientMap` needs a random end.
  return `${configId}\0${taskId}`;
}
