import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { onTestFinished } from "vitest";
import {
  ArtifactSchema,
  MessageSchema,
  PartSchema,
  TaskArtifactUpdateEventSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
  TaskStatusSchema,
  TaskStatusUpdateEventSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema } from "../../gen/parley/log/v1/log_pb.js";
import { newId } from "../../src/core/ids.js";
import { defaultLimits, type Limits } from "../../src/core/limits.js";
import { foldLarge } from "../../src/engine/log/fold-stored.js";
import type { EnginePushes } from "../../src/engine/pushes.js";
import { createPushControl, type PushControl } from "../../src/push/dead-letters.js";
import { Dispatcher } from "../../src/push/dispatcher.js";
import type { DispatcherOptions } from "../../src/push/dispatcher-options.js";
import { hostRest } from "../../src/push/host-limiter.js";
import { createPushOperations, type PushOperations } from "../../src/push/operations.js";
import type { TargetLookup } from "../../src/push/options.js";
import { pushRetry } from "../../src/push/outcome.js";
import { ConfigVault } from "../../src/push/secrets.js";
import { TargetGuard } from "../../src/push/target/guard.js";
import { createPoster } from "../../src/push/target/post.js";
import type { TaskHead, TaskStore } from "../../src/store/task-store.js";
import { decodeEntry, encodeEntry, timestampOf } from "../../src/task/entry.js";
import { isTerminal } from "../../src/task/state.js";
import { setConstants } from "../support/constants.js";
import type { Receiver } from "./receiver.js";

export const vault: ConfigVault = new ConfigVault([]);

/** Limits that keep tests short. */
export const quick: Limits = {
  ...defaultLimits,
  maxPushRetryMs: 400,
  pushTimeoutMs: 2_000,
};

/** Differences of a rig from a process that has its store to itself. */
export interface RigOptions
  extends Partial<
    Pick<
      DispatcherOptions,
      "now" | "pollMs" | "events" | "signer" | "audit" | "dialectOf" | "headers" | "nativeHeaders"
    >
  > {
  readonly limits?: Partial<Limits>;
  /** The time of the first retry in milliseconds; default 20. */
  readonly retryMs?: number;
  /** Rest of failing hosts. Default: at most 200 milliseconds. */
  readonly rest?: Partial<Record<keyof typeof hostRest, number>>;
  readonly leaseMs?: number;
  readonly isSteady?: () => boolean;
  readonly lookup?: TargetLookup;
  /** Ports that may be reached. */
  readonly receivers: readonly Receiver[];
}

/** A dispatcher over a store, with the real poster, as a process has them; its log is written by the test itself. */
export class Rig {
  readonly dispatcher: Dispatcher;
  readonly control: PushControl;
  readonly operations: PushOperations;
  readonly logged: { facts: object; message: string }[] = [];
  /** Debug lines of the log. */
  readonly debugged: { facts: object; message: string }[] = [];
  readonly pushes: EnginePushes;
  /** Ends its heartbeats, as if the process were stopped. */
  silent = false;
  #listeners: (() => void)[] = [];
  #heartbeats: NodeJS.Timeout | undefined;

  constructor(
    readonly store: TaskStore,
    {
      receivers,
      lookup,
      limits = {},
      retryMs = 20,
      rest = {},
      leaseMs = 15_000,
      isSteady = () => true,
      ...options
    }: RigOptions,
  ) {
    const all = { ...quick, ...limits };
    setConstants(pushRetry, { firstMs: retryMs });
    setConstants(hostRest, { maxMs: 200, ...rest });
    const keep = (facts: object, message: string): void => void this.logged.push({ facts, message });
    const note = (facts: object, message: string): void => void this.debugged.push({ facts, message });
    const logger = { debug: note, info: keep, warn: keep, error: keep };
    const target = {
      allowHttp: true,
      ports: receivers.map(({ port }) => port),
      allow: ["127.0.0.1"],
      ...(lookup && { lookup }),
    };
    const guard = new TargetGuard(target);
    this.pushes = this.#pushes(leaseMs, isSteady);
    this.dispatcher = new Dispatcher({
      store,
      pushes: this.pushes,
      poster: createPoster({ ...target, limits: all }),
      parse: (url) => guard.parse(url),
      open: (key, bytes) => vault.open(key, bytes),
      limits: all,
      logger,
      ...options,
    });
    this.operations = createPushOperations(() => this.dispatcher, { store, audit: options.audit });
    this.control = createPushControl(this.operations, () => this.dispatcher, { store });
    onTestFinished(() => this.end());
  }

  async start(): Promise<this> {
    await this.pushes.heartbeat();
    this.#heartbeats = setInterval(() => {
      if (!this.silent) void this.pushes.heartbeat().catch(() => {});
    }, this.pushes.leaseMs / 3);
    this.dispatcher.start();
    return this;
  }

  async end(graceMs = 0): Promise<void> {
    clearInterval(this.#heartbeats);
    await this.dispatcher.drain(graceMs);
  }

  /** Notifies the listeners of new events. */
  news(): void {
    for (const listener of this.#listeners) listener();
  }

  #pushes(leaseMs: number, isSteady: () => boolean): EnginePushes {
    const { store } = this;
    const holder = newId();
    let known = false;
    const heartbeatStatus = { epoch: 0, until: 0 };
    return {
      holder,
      leaseMs,
      heartbeatStatus,
      isSteady,
      onAppend: (listener) => void this.#listeners.push(() => listener("")),
      notify: () => this.news(),
      async heartbeat() {
        const begin = performance.now();
        const again = known;
        known = true;
        const kept = await store.heartbeat({ holder, leaseMs, again, maxStallMs: 60_000 });
        if (!kept || begin >= heartbeatStatus.until) heartbeatStatus.epoch++;
        heartbeatStatus.until = begin + leaseMs;
      },
      async taskAt({ taskId, position }) {
        const loaded = await store.load({ taskId });
        const folded = loaded && (await foldLarge(store, loaded, position));
        return folded && { fold: folded.fold, isLive: false };
      },
      async *readEntries({ taskId, after, last = Number.MAX_SAFE_INTEGER }) {
        for (let position = after; ; ) {
          const read = (await store.read({ taskId, after: position, limit: 16 })).map(decodeEntry);
          const entries = read.filter((entry) => entry.position <= last);
          const end = entries.at(-1);
          if (end === undefined) return;
          yield entries;
          position = end.position;
          if (position === last) return;
        }
      },
    };
  }
}

type Event = LogEntry["event"];

/** A status as it is logged. */
export function status(state: TaskState): Event {
  return {
    case: "status",
    value: create(TaskStatusUpdateEventSchema, {
      taskId: "t",
      contextId: "c",
      status: create(TaskStatusSchema, { state }),
    }),
  };
}

/** A piece of an artifact. */
export function chunk(text: string, lastChunk = false): Event {
  const part = create(PartSchema, { content: { case: "text", value: text } });
  const artifact = create(ArtifactSchema, { artifactId: "a", parts: [part] });
  return {
    case: "artifact",
    value: create(TaskArtifactUpdateEventSchema, { taskId: "t", contextId: "c", artifact, append: true, lastChunk }),
  };
}

/** A message that was accepted. */
export const message: Event = { case: "message", value: create(MessageSchema, { messageId: "m" }) };

/** A task's log, written entry by entry. */
export class Log {
  head: TaskHead;

  private constructor(
    readonly store: TaskStore,
    head: TaskHead,
  ) {
    this.head = head;
  }

  /** Creates a task with configurations for these webhooks, by their paths; each gets all of its events. */
  static async create(
    store: TaskStore,
    urls: readonly string[],
    more: readonly Event[] = [],
    owner = "me",
  ): Promise<Log> {
    const taskId = newId();
    const head: TaskHead = {
      taskId,
      tenant: "",
      owner,
      contextId: "c",
      state: TaskState.SUBMITTED,
      statusTime: Date.now(),
      position: 0,
      generation: 0,
      lease: null,
    };
    const log = new Log(store, head);
    const state = TaskState.SUBMITTED;
    const task = create(TaskSchema, { id: taskId, contextId: "c", status: create(TaskStatusSchema, { state }) });
    await log.append([{ case: "created", value: task }, ...more], urls[0]);
    for (const url of urls.slice(1)) await log.configure(url);
    return log;
  }

  /** Creates a task with a webhook, to which the first event goes that a turn has written for a request. */
  static async ofRequest(store: TaskStore, url: string, requestId: string): Promise<Log> {
    const log = await Log.create(store, []);
    await log.append([message], undefined, { turn: { requestId } });
    await log.configure(url);
    await log.append([status(TaskState.WORKING)], undefined, { turnPosition: log.head.position });
    return log;
  }

  /**
   * Appends events, all in one transaction; with a configuration for a URL, where that is given.
   * @param more fields of each entry
   */
  async append(
    events: readonly Event[],
    url?: string,
    more: MessageInitShape<typeof LogEntrySchema> = {},
  ): Promise<void> {
    const { position: expected } = this.head;
    let { position, generation, state } = this.head;
    const entries = events.map((event) => {
      position++;
      if (event.case !== "message") generation++;
      if (event.case === "status") state = event.value.status?.state ?? state;
      const time = timestampOf(Date.now());
      return encodeEntry(create(LogEntrySchema, { ...more, position, generation, time, event }));
    });
    this.head = { ...this.head, position, generation, state, statusTime: Date.now() };
    const { lease: _, ...row } = this.head;
    const pushConfig = url === undefined ? undefined : this.#configOf(url);
    await this.store.append({ head: row, expected, creates: expected === 0, entries, time: Date.now(), pushConfig });
  }

  complete(): Promise<void> {
    return this.append([status(TaskState.COMPLETED)]);
  }

  /** Puts a configuration that gets what comes. Its id is the path. */
  async configure(
    url: string,
    version = "",
    authentication?: { readonly scheme: string; readonly credentials?: string },
  ): Promise<void> {
    const config = this.#configOf(url, version, authentication);
    await this.store.putPushConfig({ taskId: this.head.taskId, ...config, now: Date.now() });
  }

  /** Generations of all events up to now. */
  get generations(): number[] {
    return Array.from({ length: this.head.generation }, (_, i) => i + 1);
  }

  get isOver(): boolean {
    return isTerminal(this.head.state);
  }

  #configOf(
    url: string,
    version = "",
    authentication?: { readonly scheme: string; readonly credentials?: string },
  ): Parameters<TaskStore["putPushConfig"]>[0] extends infer P ? Omit<P, "taskId" | "now"> : never {
    const { pathname, origin } = new URL(url);
    const key = { taskId: this.head.taskId, configId: pathname };
    const config = create(TaskPushNotificationConfigSchema, {
      ...key,
      id: pathname,
      url,
      token: `token of ${pathname}`,
      ...(authentication && { authentication }),
    });
    return {
      configId: pathname,
      bytes: vault.seal(key, config, version),
      target: origin,
      maxPerTask: 1_000,
      maxPerOwner: 1e6,
    };
  }
}
