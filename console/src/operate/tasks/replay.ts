import type { Artifact, Task } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { pause } from "../../../../src/core/async.js";
import { copyArtifact } from "../../../../src/task/event-fold.js";
import { TaskFold, viewTask } from "../../../../src/task/fold.js";
import { lineOf } from "./entry-text.js";
import type { TaskLog } from "./task-log.js";
import { millisOf } from "./task-row.js";

/** A task as it was when a generation was the last one. */
export interface Moment {
  readonly task: Task;
  readonly generation: number;
  readonly position: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Description of the last entry. */
  readonly line: string;
  /** Position of an entry that does not decode, where the replay ends. */
  readonly damagedAt: number | undefined;
}

interface Checkpoint {
  readonly task: Task;
  readonly position: number;
  readonly generation: number;
}

/** Folds are kept at most so often, and if they are not larger, so that going back is quick and bounded in memory. */
const MAX_CHECKPOINTS = 50;
const MIN_DISTANCE = 250;
const MAX_CHECKPOINT_BYTES = 4_000_000;

/** Work yields to the browser after so many milliseconds. */
const SLICE_MS = 8;

/** Folds a log up to any generation. */
export class Replay {
  readonly #log: TaskLog;
  #fold = new TaskFold();
  readonly #checkpoints: Checkpoint[] = [];
  #shown: Task | undefined;
  #busy: Promise<unknown> = Promise.resolve();
  #last = { at: 0, line: "" };
  #damagedAt: number | undefined;

  constructor(log: TaskLog) {
    this.#log = log;
  }

  /**
   * Returns the task at a generation, or at the last one before a damaged entry.
   * @param onProgress called with the positions that were folded, now and then
   * @throws the signal's reason
   */
  to(generation: number, signal: AbortSignal, onProgress?: (position: number) => void): Promise<Moment> {
    const work = this.#busy.then(() => this.#to(generation, signal, onProgress));
    this.#busy = work.catch(() => {});
    return work;
  }

  async #to(generation: number, signal: AbortSignal, onProgress?: (position: number) => void): Promise<Moment> {
    if (generation < this.#fold.generation) this.#restore(generation);
    let slice = performance.now();
    while (this.#fold.position < this.#log.total) {
      const position = this.#fold.position + 1;
      const entry = this.#log.peek(position) ?? (await this.#log.get(position));
      signal.throwIfAborted();
      if (entry?.entry === undefined) {
        this.#damagedAt = position;
        break;
      }
      if (entry.entry.generation > generation) break;
      this.#fold.apply(entry.entry);
      this.#last = { at: millisOf(entry.entry.time) ?? 0, line: lineOf(entry.entry) };
      this.#keep();
      if (performance.now() - slice > SLICE_MS) {
        onProgress?.(position);
        await pause(0, signal);
        signal.throwIfAborted();
        slice = performance.now();
      }
    }
    return this.#moment();
  }

  /** Goes back to the last checkpoint at or before a position. */
  #restore(generation: number): void {
    const checkpoint = this.#checkpoints.findLast((each) => each.generation <= generation);
    if (checkpoint === undefined) {
      this.#fold = new TaskFold();
      return;
    }
    this.#fold = new TaskFold(viewTask(checkpoint.task));
    this.#fold.position = checkpoint.position;
    this.#fold.generation = checkpoint.generation;
  }

  #keep(): void {
    const { position, generation, size, task } = this.#fold;
    const distance = Math.max(MIN_DISTANCE, Math.ceil(this.#log.total / MAX_CHECKPOINTS));
    if (position < (this.#checkpoints.at(-1)?.position ?? 0) + distance || size > MAX_CHECKPOINT_BYTES) return;
    this.#checkpoints.push({ task: viewTask(task), position, generation });
  }

  /** Artifacts that have not changed stay the same objects, so that the page draws them once. */
  #moment(): Moment {
    const { task, generation, position } = this.#fold;
    const shown = viewTask(task, { artifacts: false });
    shown.artifacts = task.artifacts.map((artifact, index) => {
      const before = this.#shown?.artifacts[index];
      return before !== undefined && isSame(before, artifact) ? before : copyArtifact(artifact);
    });
    this.#shown = shown;
    return { task: shown, generation, position, ...this.#last, damagedAt: this.#damagedAt };
  }
}

/** True if an artifact has the parts of a copy. Parts are only ever added, or all replaced. */
function isSame(copy: Artifact, { artifactId, parts, name }: Artifact): boolean {
  return (
    copy.artifactId === artifactId &&
    copy.name === name &&
    copy.parts.length === parts.length &&
    copy.parts[0] === parts[0] &&
    copy.parts.at(-1) === parts.at(-1)
  );
}

/** Speed of a replay: a multiple of the original one, or one event each 200 ms. */
export type Speed = "events" | "1" | "2" | "5" | "10" | "50" | "100";

export const speeds: readonly Speed[] = ["events", "1", "2", "5", "10", "50", "100"];

const EVENT_MS = 200;

/** Longest pause between two events, in milliseconds. */
const MAX_PAUSE = 2_000;

/** Shorter pauses are added up, because the screen does not show them. */
const FRAME_MS = 16;

interface PlayOptions {
  readonly replay: Replay;
  readonly from: Moment;
  /** The last generation. */
  readonly end: number;
  readonly speed: Speed;
  readonly signal: AbortSignal;
  readonly onMoment: (moment: Moment) => void;
}

/** Goes through the generations until the end, or until the signal. */
export async function play({ replay, from, end, speed, signal, onMoment }: PlayOptions): Promise<void> {
  let [moment, owed] = [from, 0];
  while (moment.generation < end && moment.damagedAt === undefined) {
    const next = await replay.to(moment.generation + 1, signal);
    if (next.generation === moment.generation) return;
    owed += speed === "events" ? EVENT_MS : Math.max(0, next.at - moment.at) / Number(speed);
    if (owed >= FRAME_MS || next.generation >= end) {
      await pause(Math.min(owed, MAX_PAUSE), signal);
      signal.throwIfAborted();
      owed = 0;
      onMoment(next);
    }
    moment = next;
  }
}
