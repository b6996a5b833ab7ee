import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { EnginePushes } from "../engine/pushes.js";
import type { ClaimedDelivery } from "../store/task-store.js";
import type { TaskFold, View } from "../task/fold.js";
import { viewOf } from "../task/shared-view.js";
import { isTerminal } from "../task/state.js";
import type { PushDialectOf } from "../version/load.js";
import type { PushDialect } from "../version/version.js";

/**
 * Maximum size as JSON of the tasks sent with each event to receivers of older versions: 4 MiB. A larger task is sent
 * without its artifacts, and if still too large without its history.
 */
export const pushedTask = { maxBytes: 4_194_304 } as const;

interface TaskBodiesParts {
  readonly pushes: Pick<EnginePushes, "taskAt">;
  readonly dialectOf: PushDialectOf;
  /** Caches tasks between notifications. */
  readonly folds: PastFolds;
}

type TaskOf = Pick<ClaimedDelivery, "taskId" | "tenant" | "owner">;

interface TaskBody {
  readonly dialect: PushDialect;
  readonly task: Task;
  /** Approximate size as JSON. */
  readonly bytes: number;
}

/** The tasks as of their events, for a configuration of another protocol version. */
export class TaskBodies {
  readonly #parts: TaskBodiesParts;
  readonly #claimed: TaskOf;
  readonly #version: string;
  readonly #name: string;

  /** @param name of the configuration, see `nameOf` */
  constructor(parts: TaskBodiesParts, claimed: TaskOf, version: string, name: string) {
    this.#parts = parts;
    this.#claimed = claimed;
    this.#version = version;
    this.#name = name;
  }

  /** Receives each entry of the log in order, also those that are not sent. */
  note(entry: LogEntry): void {
    const { folds } = this.#parts;
    const past = folds.get(this.#name);
    if (past === undefined || entry.position <= past.position) return;
    if (entry.position !== past.position + 1) return folds.drop(this.#name);
    past.apply(entry);
    folds.keep(this.#name, past);
  }

  /** Called when nothing more is sent for now. */
  rest(): void {
    this.#parts.folds.rest(this.#name);
  }

  /** The task as of an entry, or the reason for its absence, as a text. */
  async at({ position }: LogEntry): Promise<TaskBody | string> {
    const { dialectOf, pushes, folds } = this.#parts;
    const dialect = await dialectOf(this.#version);
    if (dialect === undefined) return `notifications of version ${this.#version} of the protocol are not known here`;
    const kept = folds.get(this.#name);
    if (kept?.position === position) return this.#shown(dialect, kept);
    const { taskId, tenant, owner } = this.#claimed;
    const found = pushes.taskAt({ taskId, tenant, owner, position });
    const past = found instanceof Promise ? await found : found;
    if (past === undefined) return "the task no longer exists";
    if (!past.isLive) folds.keep(this.#name, past.fold);
    return this.#shown(dialect, past.fold);
  }

  /** Drops the parts that exceed the limit: artifacts first, then the history, never the status. */
  #shown(dialect: PushDialect, fold: TaskFold): TaskBody {
    if (fold.size <= pushedTask.maxBytes) return { dialect, task: viewOf(fold), bytes: fold.size };
    const bytes = fold.sizeWithoutArtifacts;
    const view: View = bytes <= pushedTask.maxBytes ? { artifacts: false } : { artifacts: false, historyLength: 0 };
    return { dialect, task: viewOf(fold, view), bytes };
  }
}

/**
 * The last task sent to each configuration that gets whole tasks, so that the next event folds one entry instead of the
 * whole log. Beyond the byte limit the least recently used are evicted; the newest one stays, whatever its size.
 */
export class PastFolds {
  readonly #max: number;
  readonly #folds = new Map<string, { readonly fold: TaskFold; readonly bytes: number }>();
  #bytes = 0;

  /** @param maxBytes limit of all of them, as JSON */
  constructor(maxBytes: number) {
    this.#max = maxBytes;
  }

  /** Called when nothing more is to be sent: drops a finished task, or one above the limit. */
  rest(name: string): void {
    const kept = this.#folds.get(name);
    if (kept !== undefined && (kept.bytes > this.#max || isTerminal(kept.fold.state))) this.drop(name);
  }

  get(name: string): TaskFold | undefined {
    return this.#folds.get(name)?.fold;
  }

  /** Stores a fold, or updates its size. */
  keep(name: string, fold: TaskFold): void {
    this.drop(name);
    this.#folds.set(name, { fold, bytes: fold.size });
    this.#bytes += fold.size;
    for (const oldest of this.#folds.keys()) {
      if (this.#bytes <= this.#max || oldest === name) return;
      this.drop(oldest);
    }
  }

  /** Drops all: the store may have lost these tasks. */
  clear(): void {
    this.#folds.clear();
    this.#bytes = 0;
  }

  drop(name: string): void {
    const kept = this.#folds.get(name);
    if (kept === undefined) return;
    this.#folds.delete(name);
    this.#bytes -= kept.bytes;
  }
}
