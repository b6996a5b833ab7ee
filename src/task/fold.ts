import { create, type JsonObject } from "@bufbuild/protobuf";
import { type Task, TaskSchema, TaskStatusSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { ConversationChanges, LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { defined } from "../core/members.js";
import { countsAsGeneration, stateAfter } from "./entry.js";
import { copyArtifact, EventFold } from "./event-fold.js";
import { RelayCheckpoints } from "./relay-checkpoints.js";
import { addedSize } from "./size.js";
import { isTerminal } from "./state.js";
import { StepRecords } from "./step-records.js";
import { Talk } from "./talk.js";

/** A task's log folded into the task. Readers get copies (`viewTask`). */
export class TaskFold extends EventFold {
  position = 0;
  generation = 0;
  /** Generations of the tasks that this one continues under the same name; its own follow them. */
  earlierGenerations = 0;
  /** Position of the last entry that counts as a generation. */
  generationPosition = 0;
  /** Position of the entry that set the current status. */
  statusPosition = 0;
  /** Positions of the entries that accepted a message, in order; one for each client message in the history. */
  messages: number[] = [];
  /** The protocol version that created the task; empty for the service's own. */
  version = "";
  /** Request metadata of the first message; undefined if the fold begins with a snapshot without it. */
  initialMetadata: JsonObject | undefined;
  /** Relay checkpoints in the log, if any. */
  relays: RelayCheckpoints | undefined;
  /** Steps whose results may be asked for again, if any. */
  steps: StepRecords | undefined;
  /** The stored changes of the last turn that changed its conversation's state, if any. */
  changes: ConversationChanges | undefined;
  /** False if the fold begins with a snapshot without relay checkpoints, so earlier ones are unknown. */
  knowsRelays: boolean;
  /** The talk of the task; undefined if the fold begins with an outline, or a snapshot without marks. */
  talk: Talk | undefined;

  /** @param begin the task as of the fold's position, or the first piece of its snapshot */
  constructor(begin?: Task) {
    super(begin);
    this.knowsRelays = begin === undefined;
    if (begin === undefined) this.talk = new Talk();
  }

  /**
   * Returns a copy of the fold without history, artifacts and status message, to which further entries can be applied.
   */
  outline(): TaskFold {
    const { id, contextId, status } = this.task;
    const outline = new TaskFold(create(TaskSchema, { id, contextId }));
    outline.position = this.position;
    outline.generation = this.generation;
    outline.earlierGenerations = this.earlierGenerations;
    outline.generationPosition = this.generationPosition;
    outline.statusPosition = this.statusPosition;
    outline.messages = this.messages.slice();
    outline.version = this.version;
    outline.initialMetadata = this.initialMetadata;
    outline.relays = this.relays;
    outline.steps = this.steps;
    outline.changes = this.changes;
    outline.knowsRelays = this.knowsRelays;
    if (status !== undefined) outline.task.status = create(TaskStatusSchema, { ...status, message: undefined });
    return outline;
  }

  /** Returns the number of messages accepted after a position. */
  messagesAfter(position: number): number {
    let count = 0;
    for (let at = this.messages.length - 1; at >= 0 && defined(this.messages[at]) > position; at--) count++;
    return count;
  }

  /** Number of messages accepted since the last generation. */
  get messagesSince(): number {
    return this.messagesAfter(this.generationPosition);
  }

  /**
   * Applies the next entry. Entries must come in order and without a gap.
   * @param size its part of the task's size, if already counted
   */
  apply(entry: LogEntry, size: number = entry.size || addedSize(entry.event)): void {
    if (entry.position !== this.position + 1) {
      throw new RangeError(`Entry ${entry.position} cannot follow entry ${this.position}.`);
    }
    if ((entry.event.case === "created") !== (entry.position === 1)) {
      throw new TypeError(
        `Entry ${entry.position} is "${entry.event.case}". A task must begin with exactly one "created" entry.`,
      );
    }
    this.position = entry.position;
    this.generation = entry.generation;
    if (countsAsGeneration(entry.event)) this.generationPosition = entry.position;
    // A step of a turn that runs again may carry fewer changes than the turn has stored.
    const { changes } = entry;
    if (changes !== undefined && !(changes.turn === this.changes?.turn && changes.count <= this.changes.count)) {
      this.changes = changes;
    }
    if (entry.relay !== undefined) {
      this.relays ??= new RelayCheckpoints();
      this.relays.add(entry);
    }
    this.#apply(entry, size);
    this.talk?.add(entry, this);
  }

  #apply(entry: LogEntry, size: number): void {
    switch (entry.event.case) {
      case "created":
        this.version = entry.version;
        this.earlierGenerations = entry.generation - 1;
        this.initialMetadata = entry.turn?.metadata ?? {};
        this.messages.push(this.position);
        this.statusPosition = this.position;
        return this.applyCreated(entry.event.value, size);
      case "message":
        this.messages.push(this.position);
        return this.applyMessage(entry.event.value, size);
      case "status":
        this.statusPosition = this.position;
        // No later turn can ask for the steps.
        if (isTerminal(stateAfter(entry.event) ?? 0)) this.steps = undefined;
        return this.applyStatus(entry.event.value, size);
      case "artifact":
        return this.applyArtifact(entry.event.value, size);
      case "step":
        this.steps ??= new StepRecords();
        return this.steps.add(this.position, entry.event.value);
      case "note":
        return;
      default:
        throw new TypeError(`Entry ${entry.position} contains nothing that this version understands.`);
    }
  }
}

/** The part of a task that a reader requests. */
export interface View {
  /** Maximum number of messages, the newest ones; undefined for all, 0 for none (specification 3.2.4). */
  readonly historyLength?: number | undefined;
  /** False omits artifacts (specification 3.1.4). */
  readonly artifacts?: boolean;
}

/** Copies the folded task, so that later entries do not change it. */
export function viewTask(task: Task, view: View = {}): Task {
  const copy = create(TaskSchema);
  copy.id = task.id;
  copy.contextId = task.contextId;
  if (task.status !== undefined) copy.status = task.status;
  if (task.metadata !== undefined) copy.metadata = task.metadata;
  if (view.artifacts !== false) copy.artifacts = task.artifacts.map(copyArtifact);
  const length = view.historyLength;
  if (length === undefined) copy.history = task.history.slice();
  else if (length > 0) copy.history = task.history.slice(-length);
  return copy;
}
