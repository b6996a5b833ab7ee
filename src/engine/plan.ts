import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { limitReached } from "../core/limit-reached.js";
import { countsAsGeneration, type Draft, stateAfter } from "../task/entry.js";
import type { TaskFold } from "../task/fold.js";
import { isTerminal, mayFollow } from "../task/state.js";
import type { Conditions, SizeLimits, Unstored } from "./unstored.js";

/** An entry was to be accepted only if no message waits, and one does. */
export class MessageWaits extends Error {
  override name = "MessageWaits";
}

/** What the task is planned to be: as stored, and with everything that was accepted since. Drafts are judged by it. */
export class Plan {
  readonly #fold: TaskFold;
  readonly #unstored: Pick<Unstored, "size" | "drafts">;
  #state: TaskState;
  #generation: number;
  /** Accepted messages, stored or not. */
  #messages: number;
  /** Those of them that came after the entry of the generation. */
  #messagesSince: number;

  /** @param unstored what was accepted since, for its size alone: it is to be added here as well */
  constructor(fold: TaskFold, unstored: Unstored) {
    this.#fold = fold;
    this.#unstored = unstored;
    this.#state = fold.state;
    this.#generation = fold.generation;
    this.#messages = fold.messages.length;
    this.#messagesSince = fold.messagesSince;
  }

  get state(): TaskState {
    return this.#state;
  }

  /** How many messages wait behind a turn, at position `turn`; undefined when none is at work: the first will be. */
  waiting(turn: number | undefined): number {
    const onTheWay = this.#messages - this.#fold.messages.length;
    return turn === undefined ? Math.max(0, onTheWay - 1) : onTheWay + this.#fold.messagesAfter(turn);
  }

  /**
   * Judges a draft and plans it.
   * @throws A2AError when nothing may follow the state, or a condition does not hold; MessageWaits.
   */
  add(draft: Draft, conditions: Conditions, turn: number | undefined): void {
    const { event } = draft;
    const next = stateAfter(event);
    if (event.case === "created" ? this.#state !== TaskState.UNSPECIFIED : this.#state === TaskState.UNSPECIFIED) {
      throw new A2AError("INTERNAL", "Internal error.", {
        cause: new Error("A task begins with being created, once."),
      });
    }
    this.#check(conditions, turn);
    if (isTerminal(this.#state) || (next !== undefined && event.case === "status" && !mayFollow(this.#state, next))) {
      throw new A2AError("UNSUPPORTED_OPERATION", "The task is over and accepts nothing any more.", {
        metadata: { taskId: this.#fold.task.id },
      });
    }
    if (conditions.sizes !== undefined) this.checkSize(draft, conditions.sizes);
    if (next !== undefined) this.#state = next;
    if (event.case === "message") this.#messagesSince++;
    if (event.case === "message" || event.case === "created") this.#messages++;
    if (!countsAsGeneration(event)) return;
    this.#generation++;
    this.#messagesSince = 0;
  }

  /**
   * Refuses what would make the task, or one of its artifacts, too large. Nearly all are far from that, which is seen
   * at once; otherwise what is on the way is looked at, which may replace what is there.
   * @throws A2AError TASK_TOO_LARGE
   */
  checkSize(draft: Draft, { maxTaskBytes, maxArtifactBytes }: SizeLimits): void {
    const most = this.#fold.size + this.#unstored.size + draft.size;
    if (most <= maxTaskBytes && most <= maxArtifactBytes) return;
    const changed = new Map<string, number>();
    let total = this.#fold.size;
    for (const { event, size } of [...this.#unstored.drafts(), draft]) {
      total += size;
      if (event.case !== "artifact") continue;
      const { artifact, append } = event.value;
      const artifactId = artifact?.artifactId ?? "";
      const before = changed.get(artifactId) ?? this.#fold.artifactSize(artifactId);
      changed.set(artifactId, append ? before + size : size);
      if (!append) total -= before;
    }
    if (total > maxTaskBytes) throw this.#tooLarge("task", "maxTaskBytes", maxTaskBytes);
    if (draft.event.case !== "artifact") return;
    const weight = changed.get(draft.event.value.artifact?.artifactId ?? "") ?? 0;
    if (weight > maxArtifactBytes) throw this.#tooLarge("artifact", "maxArtifactBytes", maxArtifactBytes);
  }

  #tooLarge(what: string, limit: string, bytes: number): A2AError {
    const message = `The ${what} would be larger than it may be, ${bytes} bytes as JSON.`;
    return new A2AError("TASK_TOO_LARGE", message, {
      metadata: { taskId: this.#fold.task.id, limit, [limit]: String(bytes) },
    });
  }

  #check({ ifGeneration, maxWaiting, ifNoneWaits }: Conditions, turn: number | undefined): void {
    if (ifGeneration !== undefined && (ifGeneration !== this.#generation || this.#messagesSince > 0)) {
      throw this.#elsewhere();
    }
    if (maxWaiting !== undefined && this.waiting(turn) >= maxWaiting && !this.#isFirst(turn)) {
      throw limitReached("maxWaitingTurns", "Too many messages wait for this task.");
    }
    if (ifNoneWaits === true && this.waiting(turn) > 0) throw new MessageWaits();
  }

  /** Whether the next message need not wait at all. */
  #isFirst(turn: number | undefined): boolean {
    return turn === undefined && this.#messages === this.#fold.messages.length;
  }

  #elsewhere(): A2AError {
    const [generation, messages] = [String(this.#generation), String(this.#messagesSince)];
    const more = this.#messagesSince > 0 ? " and has accepted a message since" : "";
    return new A2AError("GENERATION_MISMATCH", `The task is at generation ${generation}${more}.`, {
      metadata: { generation, messages },
    });
  }
}
