import { boundedCall, ignore, pause } from "../core/async.js";
import { A2AError, invalid } from "../core/error.js";
import type { LogCause } from "../core/log.js";
import type { PushConfigKey, StoredPushConfig, TaskHead } from "../store/task-store.js";
import { countsAsGeneration } from "../task/entry.js";
import { viewOf } from "../task/shared-view.js";
import type { TraceHeaders } from "../telemetry/w3c.js";
import type { PushDialect } from "../version/version.js";
import { type Attempt, type RawAttempt, toAttempt } from "./attempt-history.js";
import type { Delivery, DeliveryParts } from "./delivery.js";
import type { DispatcherOptions } from "./dispatcher-options.js";
import type { Host, Hosts, ProbeBudget } from "./host-limiter.js";
import { NotificationHeaders, notificationBody, testBodyOf } from "./notification.js";
import { tracedPost } from "./post-span.js";
import { MissingKeyError, type OpenedConfig } from "./secrets.js";
import { attemptOf, describedFailure, logFailure, noteFailure, spaceOf } from "./sent.js";
import type { PostOutcome } from "./target/post.js";
import type { Target } from "./target/target-url.js";
import { TaskBodies } from "./task-bodies.js";

/** Time that an operator's event waits for a free slot of its host, in milliseconds. */
const WAIT_MS = 5_000;

interface OperatorSendsParts {
  readonly parts: DeliveryParts;
  readonly hosts: Pick<Hosts<Delivery>, "get">;
  readonly probes: ProbeBudget;
  readonly open: DispatcherOptions["open"];
  readonly parse: DispatcherOptions["parse"];
}

interface CallTrace extends TraceHeaders, Pick<LogCause, "requestId"> {}

export interface OperatorEvent extends PushConfigKey {
  /** Generation of an event of the task; undefined for a test event. */
  readonly generation: number | undefined;
  /** Trace and id of the operator's call. Default: none. */
  readonly trace?: CallTrace;
}

/** A stored configuration with its task. */
interface Found {
  readonly key: PushConfigKey;
  readonly config: StoredPushConfig;
  readonly head: TaskHead;
  readonly opened: OpenedConfig;
}

interface Notification {
  readonly generation: number;
  readonly body: string;
  readonly headers: string[];
}

/** The receiver of a notification, and the trace of the operator's call that sends it. */
interface Destination {
  readonly target: Target;
  readonly host: Host<unknown>;
  readonly trace: CallTrace;
}

/** An operator's event that waits for a slot. */
interface Waiter {
  readonly host: Host<unknown>;
  readonly owner: string;
  /** Starts it. @param endProbe see `#tryAcquire` */
  readonly admit: (endProbe: () => void) => void;
}

/**
 * Sends single events for operators: to the same targets, with the same signatures and within the same limits as
 * deliveries. They need no claim and change no position.
 */
export class OperatorSends {
  readonly #own: OperatorSendsParts;
  readonly #waiting = new Set<Waiter>();

  constructor(own: OperatorSendsParts) {
    this.#own = own;
  }

  /**
   * Sends one event and returns the attempt, failed or not.
   *
   * @throws A2AError TASK_NOT_FOUND for an unknown configuration, INVALID_PARAMS for a generation that the task does
   * not have or that is never sent, UNSUPPORTED_OPERATION for an event that has not been delivered yet, UNAVAILABLE if
   * the configuration cannot be read or its host has no free slot
   */
  async send({ taskId, configId, generation, trace = noTrace }: OperatorEvent): Promise<Attempt> {
    const found = await this.#find({ taskId, configId });
    const target = this.#target(found);
    const notification = generation === undefined ? await this.#test(found) : await this.#event(found, generation);
    if (typeof target === "string") return this.#unsent(found, notification.generation, target);
    const host = this.#own.hosts.get(target.host, performance.now());
    const endProbe = await this.#acquire(host, found.head.owner);
    try {
      return await this.#post(found, notification, { target, host, trace });
    } finally {
      endProbe();
      host.release();
      this.#own.parts.freed(host);
    }
  }

  /** Gives free slots to the events that wait for them. */
  next(): void {
    for (const { host, owner, admit } of this.#waiting) {
      const endProbe = this.#tryAcquire(host, owner);
      if (endProbe !== undefined) admit(endProbe);
    }
  }

  async #find(key: PushConfigKey): Promise<Found> {
    const { store } = this.#own.parts;
    const [config, head] = await Promise.all([store.getPushConfig(key), store.head({ taskId: key.taskId })]);
    if (config === undefined || head === undefined) throw unknownConfig();
    try {
      return { key, config, head, opened: this.#own.open(key, config.bytes) };
    } catch (cause) {
      if (!(cause instanceof MissingKeyError)) throw cause;
      throw new A2AError("UNAVAILABLE", "The configuration is encrypted by a key that this server does not have.", {
        cause,
      });
    }
  }

  /** @returns a failure for people if the target is forbidden */
  #target({ opened }: Found): Target | string {
    try {
      return this.#own.parse(opened.config.url);
    } catch (error) {
      if (error instanceof A2AError) return error.message;
      throw error;
    }
  }

  async #test(found: Found): Promise<Notification> {
    const { pushes } = this.#own.parts;
    const { head, key, opened } = found;
    const { taskId, tenant, owner, position } = head;
    const dialect = await this.#dialect(opened.version);
    const past = await pushes.taskAt({ taskId, tenant, owner, position });
    if (past === undefined) throw unknownConfig();
    const task = viewOf(past.fold, { artifacts: false, historyLength: 0 });
    const body = testBodyOf(task, dialect);
    const headers = await new NotificationHeaders(this.#own.parts, key, opened.config).ofTest(task.id, body, dialect);
    return { generation: 0, body, headers };
  }

  async #dialect(version: string): Promise<PushDialect | undefined> {
    if (version === "") return undefined;
    const dialect = await this.#own.parts.dialectOf(version);
    if (dialect !== undefined) return dialect;
    const message = `Notifications of version ${version} of the protocol are not known here.`;
    throw new A2AError("UNSUPPORTED_OPERATION", message);
  }

  async #event({ key, config, head, opened }: Found, generation: number): Promise<Notification> {
    const { parts } = this.#own;
    const { taskId, tenant, owner } = head;
    const wanted = opened.version === "" ? parts.wanted : parts.wantedWithTask;
    let after = 0;
    // The generations of a task begin with its creation's, and rise by at most one with each position.
    for await (const [created] of parts.pushes.readEntries({ taskId, tenant, owner, after, last: 1 }))
      after = Math.max(0, generation - (created?.generation ?? generation));
    for await (const page of parts.pushes.readEntries({ taskId, tenant, owner, after, last: head.position })) {
      for (const entry of page) {
        if (entry.generation > generation) throw unknownGeneration("is not one of an event of this task");
        if (entry.generation < generation || entry.event.case === undefined || !countsAsGeneration(entry.event))
          continue;
        if (!wanted(entry)) throw unknownGeneration("is one of an event that is not sent to this configuration");
        if (entry.position > config.position) throw undelivered();
        const headers = new NotificationHeaders(parts, key, opened.config);
        if (opened.version === "") {
          const body = notificationBody(entry) ?? "";
          return { generation, body, headers: await headers.of(entry, body, undefined) };
        }
        const claimed = { taskId, tenant, owner };
        const found = await new TaskBodies(parts, claimed, opened.version, "").at(entry);
        if (typeof found === "string") throw new A2AError("UNSUPPORTED_OPERATION", `Not sent: ${found}.`);
        const body = found.dialect.write(found.task);
        return { generation, body, headers: await headers.of(entry, body, found.dialect) };
      }
    }
    throw unknownGeneration("is not one of an event of this task");
  }

  /**
   * Takes a free slot of a host until `release`, and one for unproven hosts if it is unproven.
   * @returns a function that frees the latter; undefined if no slot is free
   */
  #tryAcquire(host: Host<unknown>, owner: string): (() => void) | undefined {
    const { probes } = this.#own;
    if (!host.tryAcquire(performance.now(), probes.hasCapacity(owner))) return undefined;
    return host.isHealthy ? ignore : probes.begin(owner);
  }

  /** The same, but waits until a slot is free. @throws A2AError UNAVAILABLE */
  async #acquire(host: Host<unknown>, owner: string): Promise<() => void> {
    const begin = (admit: Waiter["admit"]): (() => void) => {
      const waiter: Waiter = { host, owner, admit };
      this.#waiting.add(waiter);
      return () => this.#waiting.delete(waiter);
    };
    return this.#tryAcquire(host, owner) ?? boundedCall(begin, { timeout: { ms: WAIT_MS, error: noFreeSlot } });
  }

  async #post(found: Found, notification: Notification, { target, host, trace }: Destination): Promise<Attempt> {
    const { poster, limits, shutdown, smallBytes, tracing, count, agentName } = this.#own.parts;
    const { taskId } = found.key;
    const { requestId, traceParent } = trace;
    const cause = { requestId, traceParent, taskId, agent: agentName(found.head.tenant) };
    const { body, headers, generation } = notification;
    const size = body.length > smallBytes ? body.length : 0;
    const space = spaceOf(this.#own.parts, host);
    try {
      if (size > 0) await space.acquire(size);
      const waitMs = host.pace(performance.now());
      if (waitMs > 0) await pause(waitMs, shutdown, true);
      if (shutdown.aborted) throw new A2AError("UNAVAILABLE", "The server is shutting down.");
      const begin = performance.now();
      let error: Error | undefined;
      const noteError = (thrown: Error): void => {
        error = thrown;
      };
      const send = (): Promise<PostOutcome> =>
        poster.post({ target, headers, body, timeoutMs: limits.pushTimeoutMs, signal: shutdown, noteError });
      const claimed = { taskId, attempts: 0 };
      const outcome = await tracedPost(tracing, claimed, {
        trace,
        time: Date.now(),
        generation,
        target,
        headers,
        send,
      });
      const now = performance.now();
      if (outcome.kind !== "failed" || !shutdown.aborted) count(outcome, now - begin);
      const { key, opened } = found;
      if (outcome.kind === "accepted") host.succeeded(now - begin);
      else {
        const events = noteFailure(outcome, host, now);
        const failure = describedFailure(outcome);
        logFailure(this.#own.parts, { key, cause }, { host: target.host, failure, error, events });
      }
      const made = { key, config: opened.config, outcome, generation, begin, now, byOperator: true };
      return this.#remember(attemptOf(made));
    } finally {
      if (size > 0) space.release(size);
    }
  }

  #unsent({ key, opened }: Found, generation: number, failure: string): Attempt {
    const facts = { time: Date.now(), durationMs: 0, generation, status: 0, body: undefined };
    return this.#remember({ ...key, ...facts, config: opened.config, failure, byOperator: true });
  }

  #remember(attempt: RawAttempt): Attempt {
    this.#own.parts.attempts.add(attempt);
    return toAttempt(attempt);
  }
}

const noTrace: TraceHeaders = { traceParent: "", traceState: "" };

const noFreeSlot = (): A2AError =>
  new A2AError("UNAVAILABLE", "The host of the webhook has no free slot.", { retryAfterMs: WAIT_MS });

const unknownConfig = (): A2AError =>
  new A2AError("TASK_NOT_FOUND", "The push notification configuration does not exist.");

const unknownGeneration = (description: string): A2AError => invalid([{ field: "generation", description }]);

const undelivered = (): A2AError =>
  new A2AError(
    "UNSUPPORTED_OPERATION",
    "The event has not been delivered yet. Sending it now would make the receiver treat earlier events as outdated.",
  );
