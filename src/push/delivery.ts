import type { TaskPushNotificationConfig } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { Audit } from "../audit/audit.js";
import type { Room } from "../core/async.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { EnginePushes } from "../engine/pushes.js";
import type { ClaimedDelivery, PushConfigKey, TaskStore } from "../store/task-store.js";
import type { PushDialectOf } from "../version/push.js";
import type { PushDialect } from "../version/version.js";
import type { EventFilter } from "./event-filter.js";
import type { Host } from "./host.js";
import type { LifeWatch } from "./life-watch.js";
import type { PastFolds } from "./past-folds.js";
import { asksForSignature, bodyOf, eventIdOf, headersFor, taskIdOf } from "./payload.js";
import type { OpenedConfig } from "./secrets.js";
import type { PushSigner } from "./signature/signer.js";
import type { Breakable, Poster, PostOutcome } from "./target/post.js";
import type { Target } from "./target/target-url.js";
import { TaskBodies } from "./task-bodies.js";
import type { Pauses } from "./timing.js";

/** Between two records of how far a delivery is, in milliseconds: what was sent since the last one is sent again after a crash. */
const SAVE_MS = 200;

/** A delivery makes room after so long when others wait for it, in milliseconds: one with very much to send is not to keep them from theirs. */
const SLICE_MS = 5_000;

/**
 * What the store has not confirmed for so long is asked about before more is sent, in milliseconds: a configuration that was deleted
 * or replaced meanwhile is not used on.
 */
const CONFIRM_MS = 1_000;

/** What deliveries share. */
export interface DeliveryParts {
  readonly store: TaskStore;
  readonly pushes: EnginePushes;
  readonly poster: Poster;
  readonly signer: PushSigner | undefined;
  readonly wanted: EventFilter;
  /** The same of configurations of other versions of the protocol. */
  readonly wantedWithTask: EventFilter;
  readonly dialectOf: PushDialectOf;
  /** Notifications up to so many bytes never wait for room: all of them together are small as well. */
  readonly smallBytes: number;
  /** The tasks that configurations of other versions were sent last. */
  readonly folds: PastFolds;
  readonly outgoing: Room;
  /** The same to hosts that are only tried. */
  readonly outgoingTrials: Room;
  readonly pauses: Pauses;
  readonly life: LifeWatch;
  readonly audit: Audit;
  readonly logger: Logger;
  /** Headers of every notification: names and values by turns. */
  readonly headers: readonly string[];
  /** Further ones of those in the service's own version. */
  readonly nativeHeaders: readonly string[];
  readonly limits: Pick<Limits, "pushTimeoutMs">;
  /** Counts what became of notifications. */
  readonly count: { sent: number; failed: number };
  /** True when nothing more is to be begun. */
  readonly isEnding: () => boolean;
  /** Notes that the store failed at something that is tried again anyway. */
  readonly noteTrouble: (error: unknown) => void;
}

/** What a delivery is about. */
export interface DeliveryTask {
  readonly claimed: ClaimedDelivery;
  readonly opened: OpenedConfig;
  readonly target: Target;
  readonly host: Host<Delivery>;
  /** `LifeWatch.epoch` when the claim was asked for. */
  readonly epoch: number;
}

/** How a delivery ended, before that is stored. */
export type Ending =
  | { readonly kind: "done" }
  /** After so many milliseconds it may go on, here or elsewhere. */
  | { readonly kind: "later"; readonly ms: number }
  | { readonly kind: "lost" }
  | { readonly kind: "failed"; readonly failure: string; readonly retryAfterMs: number; readonly gone: boolean };

/** This process cannot be sure that it still has what it claimed: a while later it knows, or another process has it. */
const unsure: Ending = { kind: "later", ms: 1_000 };

/** Answers that say something about a host, and not about one webhook of it. */
const overloaded: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/**
 * The delivery of one configuration: reads the log of its task from its position on and sends one notification after the other, in
 * order, until there is nothing more or one fails. The position moves when a receiver has said 2xx, and is recorded behind: what a
 * crash takes from it is sent again, under the same id.
 */
export class Delivery {
  readonly claimed: ClaimedDelivery;
  readonly host: Host<Delivery>;
  readonly key: PushConfigKey;
  /** See `nameOf`. */
  readonly name: string;
  /** Whether it is not at work any more, and its end is on the way to the store. */
  isOver = false;
  /** A claim of the same configuration that begins when this delivery has ended: what was stored is another one by now. */
  successor: { readonly claimed: ClaimedDelivery; readonly epoch: number } | undefined;
  /** What is under way to the receiver, or was the last time. */
  request: Breakable | undefined;
  /** Since when the receiver has what it has not answered, by `performance.now()`; undefined when it has nothing. */
  #askedAt: number | undefined;
  /** Ends the trial of a host that is not proven; called when it has taken something, and at the end. */
  endTrial: () => void = () => {};
  readonly #parts: DeliveryParts;
  readonly #config: TaskPushNotificationConfig;
  readonly #target: Target;
  /** Undefined where notifications are in the service's own version. */
  readonly #tasks: TaskBodies | undefined;
  #dialect: PushDialect | undefined;
  #headers: string[] | undefined;
  #claim: number;
  #position: number;
  #progressed = false;
  #epoch: number;
  #lost = false;
  /** Position of the last entry, as the claim says it, until the log was read so far. */
  #last: number | undefined;
  /** When it began to send, or recorded its position last: while it waits for its place there is nothing to record. */
  #savedAt = 0;
  #saving = false;
  /** When the store last said that the claim holds. */
  #confirmedAt = performance.now();

  constructor(parts: DeliveryParts, { claimed, opened, target, host, epoch }: DeliveryTask) {
    this.#parts = parts;
    this.claimed = claimed;
    this.host = host;
    this.key = { taskId: claimed.taskId, configId: claimed.configId };
    this.name = nameOf(claimed);
    this.#claim = claimed.claim;
    this.#position = claimed.position;
    this.#last = claimed.headPosition;
    this.#config = opened.config;
    this.#tasks = opened.version === "" ? undefined : new TaskBodies(parts, claimed, opened.version, this.name);
    this.#target = target;
    this.#epoch = epoch;
  }

  /** Number of the claim that is relied on. */
  get claim(): number {
    return this.#claim;
  }

  /** Everything up to here was delivered, or is nothing that is sent. */
  get position(): number {
    return this.#position;
  }

  /** Whether a notification was accepted since the claim. */
  get progressed(): boolean {
    return this.#progressed;
  }

  /** Whether its claim is over: it sends nothing more. */
  get isLost(): boolean {
    return this.#lost;
  }

  /**
   * The configuration was claimed once more, by this process. The same one goes on under the new number; one that was replaced, or
   * deleted and made anew, is for a successor.
   */
  renew(claimed: ClaimedDelivery, epoch: number): void {
    if (!this.#lost && Buffer.compare(claimed.bytes, this.claimed.bytes) === 0) {
      this.#claim = claimed.claim;
      return;
    }
    this.#lost = true;
    this.successor = { claimed, epoch };
  }

  /**
   * Delivers what the log has behind the position.
   * @param isPressed whether others wait for its place
   */
  async run(isPressed: () => boolean): Promise<Ending> {
    try {
      return await this.#deliver(isPressed);
    } finally {
      this.#tasks?.rest();
    }
  }

  async #deliver(isPressed: () => boolean): Promise<Ending> {
    const { pushes, isEnding } = this.#parts;
    const wanted = this.#tasks === undefined ? this.#parts.wanted : this.#parts.wantedWithTask;
    const { taskId, tenant, owner } = this.claimed;
    const begin = performance.now();
    this.#savedAt = begin;
    const last = this.#last;
    this.#last = undefined;
    for await (const page of pushes.readEntries({ taskId, tenant, owner, after: this.#position, last })) {
      for (const entry of page) {
        if (this.#lost) return { kind: "lost" };
        if (isEnding()) return { kind: "later", ms: 0 };
        // Not after the last entry, whose position comes with the end of the claim.
        this.#saveSoon();
        this.#tasks?.note(entry);
        if (wanted(entry)) {
          const now = performance.now();
          if (now - begin > SLICE_MS && isPressed()) return { kind: "later", ms: 0 };
          const waitMs = this.host.pace(now);
          if (waitMs > 0) await this.#parts.pauses.pause(waitMs);
          const ending = await this.#send(entry);
          if (ending !== undefined) return ending;
        }
        this.#position = entry.position;
      }
    }
    return { kind: this.#lost ? "lost" : "done" };
  }

  /**
   * Breaks off a notification that the receiver has had for so many milliseconds, when others cannot begin. One to a host that is
   * only tried keeps its time: there are few of these, and a host that is slow has to get its notifications, too.
   */
  makeRoom(ms: number): void {
    const { host } = this;
    if (this.#askedAt === undefined || !host.isProven || performance.now() - this.#askedAt < ms) return;
    this.request?.breakOff(`there was no answer within ${ms} ms, and others waited for their turn`);
  }

  /** Sends the notification of an entry. @returns undefined when it was accepted */
  #send(entry: LogEntry): Promise<Ending | undefined> | Ending | undefined {
    if (this.#parts.isEnding()) return { kind: "later", ms: 0 };
    if (this.#tasks !== undefined) return this.#sendTask(entry, this.#tasks);
    const body = bodyOf(entry);
    if (body === undefined) return undefined;
    // Characters for bytes: counting those would cost as much as sending it.
    const bytes = body.length;
    return bytes <= this.#parts.smallBytes ? this.#sendBody(entry, body) : this.#sendLarge(entry, bytes, () => body);
  }

  async #sendTask(entry: LogEntry, tasks: TaskBodies): Promise<Ending | undefined> {
    const found = await tasks.at(entry);
    if (typeof found === "string") return { kind: "failed", failure: found, retryAfterMs: 0, gone: false };
    const { dialect, task, bytes } = found;
    this.#dialect = dialect;
    const write = (): string => dialect.write(task);
    return bytes <= this.#parts.smallBytes ? this.#sendBody(entry, write()) : this.#sendLarge(entry, bytes, write);
  }

  /** @param write makes the body when there is room for it */
  async #sendLarge(entry: LogEntry, bytes: number, write: () => string): Promise<Ending | undefined> {
    const { outgoing, outgoingTrials } = this.#parts;
    const room = this.host.isProven ? outgoing : outgoingTrials;
    const free = room.acquire(bytes);
    try {
      if (free !== undefined) await free;
      return await this.#sendBody(entry, write());
    } finally {
      room.release(bytes);
    }
  }

  async #sendBody(entry: LogEntry, body: string): Promise<Ending | undefined> {
    const { poster, limits, life, isEnding } = this.#parts;
    // No promise is waited for that is not needed: each takes as long as writing a header.
    const made = this.#headersOf(entry, body);
    const headers = made instanceof Promise ? await made : made;
    if (!this.#isSureNow && !(await this.#isSure())) return this.#lost ? { kind: "lost" } : unsure;
    if (isEnding()) return { kind: "later", ms: 0 };
    const begin = performance.now();
    const { signal } = life;
    this.#askedAt = begin;
    const outcome = await poster.post({
      target: this.#target,
      watch: this,
      headers,
      body,
      timeoutMs: limits.pushTimeoutMs,
      signal,
      isAllowed: signal && this.#isAllowed,
    });
    this.#askedAt = undefined;
    return this.#answered(outcome, begin, signal);
  }

  /** Asked when there is a connection. */
  readonly #isAllowed = (): boolean => this.#parts.life.isSure && !this.#lost;

  #answered(outcome: PostOutcome, begin: number, signal: AbortSignal | undefined): Ending | undefined {
    const { count, life, isEnding } = this.#parts;
    const now = performance.now();
    if (outcome.kind === "accepted") {
      count.sent++;
      this.#progressed = true;
      this.host.succeeded(now - begin);
      this.endTrial();
      return undefined;
    }
    // What this process breaks off is no failure of the receiver.
    if (outcome.kind === "failed" && isEnding()) return { kind: "later", ms: 0 };
    if (outcome.kind === "failed" && (signal?.aborted || !life.isSure)) return unsure;
    count.failed++;
    return this.#failed(outcome, now);
  }

  #failed(outcome: Exclude<PostOutcome, { kind: "accepted" }>, now: number): Ending {
    const failure = outcome.kind === "failed" ? outcome.reason : `the receiver answered ${outcome.status}`;
    const facts = { ...this.key, host: this.#target.host, failure };
    this.#parts.logger.debug(facts, "a push notification was not accepted");
    if (outcome.kind === "failed") {
      if (outcome.forbidden) this.#audit("push.target-refused");
      this.#hostFailed(now);
      return { kind: "failed", failure, retryAfterMs: 0, gone: false };
    }
    const { status, retryAfterMs = 0, gone } = outcome;
    if (overloaded.has(status)) this.#hostFailed(now);
    return { kind: "failed", failure, retryAfterMs, gone };
  }

  #hostFailed(now: number): void {
    if (this.host.failed(now)) this.#audit("push.circuit-opened");
  }

  #audit(event: "push.target-refused" | "push.circuit-opened"): void {
    this.#parts.audit.record({ event, target: this.#target.host });
  }

  /** Names and values by turns, as they are written. A promise where a thread signs. */
  #headersOf(entry: LogEntry, body: string): string[] | Promise<string[]> {
    const { signer, headers: common, nativeHeaders } = this.#parts;
    const dialect = this.#dialect;
    this.#headers ??= [
      ...(dialect === undefined ? nativeHeaders : []),
      ...common,
      ...headersFor(this.#config, dialect),
    ];
    const { generation } = entry;
    const headers = [...this.#headers, "parley-generation", `${generation}`];
    const { taskId, configId } = toldAs(this.key, entry);
    const id = eventIdOf({ taskId, configId }, generation);
    const time = Date.now();
    if (signer === undefined) {
      headers.push("webhook-id", id, "webhook-timestamp", `${Math.floor(time / 1_000)}`);
      return headers;
    }
    const { url, token } = this.#config;
    const asBearer = asksForSignature(this.#config, dialect);
    const signed = signer.headers({ id, taskId, configId, generation, time, url, body, token, asBearer });
    return signed instanceof Promise ? signed.then((more) => withHeaders(headers, more)) : withHeaders(headers, signed);
  }

  /**
   * Whether this process still has the delivery, as far as it can know. One that was given up for a while, or that cannot be sure, says
   * that it lives, and looks whether what it has is still its own.
   */
  async #isSure(): Promise<boolean> {
    const { pushes, life } = this.#parts;
    while (!this.#lost && !this.#isSureNow) {
      try {
        if (!life.isSure) await pushes.beat();
        const { epoch } = life;
        await this.#save();
        this.#epoch = epoch;
      } catch (error) {
        this.#parts.noteTrouble(error);
        return false;
      }
    }
    return !this.#lost;
  }

  get #isSureNow(): boolean {
    const { life } = this.#parts;
    if (this.#lost || !life.isSure || this.#epoch !== life.epoch) return false;
    return performance.now() - this.#confirmedAt <= CONFIRM_MS;
  }

  /** Records how far it is now and then, while it goes on. */
  #saveSoon(): void {
    if (this.#saving || this.#lost) return;
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
    // A claim that was renewed meanwhile has another number.
    else if (claim === this.#claim) this.#lost = true;
  }
}

/**
 * What receivers are told of whose notification it is. Of a task that is kept under another id than its client knows, the id of the
 * configuration says which: others may have a task of the same name, and they may have the same receiver.
 */
function toldAs(key: PushConfigKey, entry: LogEntry): PushConfigKey {
  const taskId = taskIdOf(entry) ?? key.taskId;
  return taskId === key.taskId ? key : { taskId, configId: `${key.taskId}/${key.configId}` };
}

function withHeaders(headers: string[], more: Readonly<Record<string, string>>): string[] {
  for (const name in more) headers.push(name, more[name] as string);
  return headers;
}

/** What a configuration is told from all others by. */
export function nameOf({ taskId, configId }: PushConfigKey): string {
  // The task's id last, whose end is random: `TransientMap` asks for that.
  return `${configId}\0${taskId}`;
}
