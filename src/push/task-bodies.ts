import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { Limits } from "../core/limits.js";
import type { EnginePushes } from "../engine/pushes.js";
import type { ClaimedDelivery } from "../store/task-store.js";
import type { TaskFold, View } from "../task/fold.js";
import { viewOf } from "../task/shared-view.js";
import type { PushDialect, PushDialectOf } from "../version/push.js";

/** What tasks for notifications are found with. */
export interface TaskBodiesParts {
  readonly pushes: Pick<EnginePushes, "taskAt">;
  readonly dialectOf: PushDialectOf;
  readonly limits: Pick<Limits, "maxPushedTaskBytes">;
  /** A task up to so many bytes is kept from one notification to the next. */
  readonly smallBytes: number;
}

/** A task that is to be sent. */
export interface TaskBody {
  readonly dialect: PushDialect;
  readonly task: Task;
  /** About what it weighs as JSON. */
  readonly bytes: number;
}

/** The tasks as of their events, for the configuration of another version of the protocol. */
export class TaskBodies {
  readonly #parts: TaskBodiesParts;
  readonly #claimed: ClaimedDelivery;
  readonly #version: string;
  /** The task as it was when it was sent last, with what came since. */
  #past: TaskFold | undefined;

  constructor(parts: TaskBodiesParts, claimed: ClaimedDelivery, version: string) {
    this.#parts = parts;
    this.#claimed = claimed;
    this.#version = version;
  }

  /** Hears of each entry of the log, in order, those that are not sent too. */
  note(entry: LogEntry): void {
    const past = this.#past;
    if (past === undefined || entry.position <= past.position) return;
    if (entry.position === past.position + 1) past.apply(entry);
    if (entry.position !== past.position || past.size > this.#parts.smallBytes) this.#past = undefined;
  }

  /** The task as of an entry, or, as a text, why there is none. */
  async at({ position }: LogEntry): Promise<TaskBody | string> {
    const { dialectOf, pushes } = this.#parts;
    const dialect = await dialectOf(this.#version);
    if (dialect === undefined) return `notifications of version ${this.#version} of the protocol are not known here`;
    if (this.#past?.position === position) return this.#shown(dialect, this.#past);
    const { taskId, tenant, owner } = this.#claimed;
    const found = pushes.taskAt({ taskId, tenant, owner, position });
    const past = found instanceof Promise ? await found : found;
    if (past === undefined) return "the task is not there any more";
    if (!past.isLive && past.fold.size <= this.#parts.smallBytes) this.#past = past.fold;
    return this.#shown(dialect, past.fold);
  }

  /** What is too large for a notification is left out: the history last of all, never the status. */
  #shown(dialect: PushDialect, fold: TaskFold): TaskBody {
    const { maxPushedTaskBytes } = this.#parts.limits;
    if (fold.size <= maxPushedTaskBytes) return { dialect, task: viewOf(fold), bytes: fold.size };
    const bytes = fold.sizeWithoutArtifacts;
    const view: View = bytes <= maxPushedTaskBytes ? { artifacts: false } : { artifacts: false, historyLength: 0 };
    return { dialect, task: viewOf(fold, view), bytes };
  }
}
