import type { Turn } from "../../agent/agent.js";
import type { EndedStep, StepJournal, StepOutcome } from "../../agent/steps.js";
import { utf8LengthOf } from "../../core/bytes.js";
import { A2AError } from "../../core/error.js";
import { type Logger, silentLogger } from "../../core/log.js";
import type { Draft } from "../../task/entry.js";
import { isTerminal } from "../../task/state.js";
import type { StepRecord } from "../../task/step-records.js";
import { stepDraft } from "../log/draft.js";
import { readForAgent } from "../log/outage.js";
import type { SizeLimits } from "../log/plan.js";
import type { TaskLog } from "../log/task-log.js";

interface TaskStepsSource {
  readonly limits: SizeLimits;
  readonly now: () => number;
}

/** Appends an entry and calls back when it is stored. */
type StepAppend = (draft: Draft, onStored: () => void) => Promise<void>;

/** Keeps the steps of one execution's turns in the log of its task. */
export class TaskSteps implements StepJournal {
  readonly #source: TaskStepsSource;
  readonly #log: TaskLog;
  readonly #append: StepAppend;
  #logger: Logger = silentLogger;
  /** The running turn; 0 between turns. */
  #turn = 0;
  #reusedChanges = 0;
  /** Bytes of results that are not stored yet. */
  #unstored = 0;
  /** The last turn: its signal ends the waits of its reads. */
  #reading: Pick<Turn, "signal"> | undefined;

  /** @param append stores an entry under the execution's lease */
  constructor(source: TaskStepsSource, log: TaskLog, append: StepAppend) {
    this.#source = source;
    this.#log = log;
    this.#append = append;
  }

  /** @param of ends the waits of its reads */
  beginTurn(turn: number, of: Pick<Turn, "signal">, logger: Logger): void {
    this.#logger = logger;
    this.#turn = turn;
    this.#reusedChanges = 0;
    this.#reading = of;
  }

  /** Ends the turn after its last event. The agent may clean up, but runs no further step. */
  endTurn(): void {
    this.#turn = 0;
  }

  mayStore(turn: number): boolean {
    // Another process may have ended the task. The fold then has no steps, so stored ones would run again.
    return turn === this.#turn && !isTerminal(this.#log.fold.state);
  }

  stored(turn: number): readonly StepRecord[] {
    return this.#log.fold.steps?.of(turn) ?? [];
  }

  async read(position: number): Promise<StepOutcome> {
    const reading = this.#reading;
    const signal = (): AbortSignal => reading?.signal ?? AbortSignal.abort();
    const entry = await readForAgent(() => this.#log.entryAt(position), signal);
    if (entry?.event.case !== "step") {
      throw new Error(`Entry ${position} of task ${this.#log.taskId} is not a step.`);
    }
    const { changes } = entry;
    if (changes?.turn === this.#turn) this.#reusedChanges = Math.max(this.#reusedChanges, changes.count);
    const { outcome } = entry.event.value;
    if (outcome.case === "error") return { failure: outcome.value };
    return { json: outcome.case === "result" ? outcome.value : undefined };
  }

  reusedChanges(): number {
    return this.#reusedChanges;
  }

  append(turn: number, step: EndedStep): Promise<void> {
    if (!this.mayStore(turn)) {
      return Promise.reject(new Error(`The turn is over: the step "${step.name}" cannot be stored.`));
    }
    const now = this.now();
    const { outcome } = step;
    const bytes = "json" in outcome && outcome.json !== undefined ? utf8LengthOf(outcome.json) : 0;
    const error = this.#tooLarge(bytes);
    if (error !== undefined) return Promise.reject(error);
    this.#unstored += bytes;
    return this.#append(stepDraft(turn, step, now), () => {
      this.#unstored -= bytes;
      this.#note(step, now);
    });
  }

  #tooLarge(bytes: number): A2AError | undefined {
    const { maxTaskBytes } = this.#source.limits;
    const all = (this.#log.fold.steps?.bytes ?? 0) + this.#unstored + bytes;
    if (all <= maxTaskBytes) return undefined;
    const message = `The results of the task's steps would have ${all} bytes as JSON, of at most ${maxTaskBytes}.`;
    return new A2AError("TASK_TOO_LARGE", message, {
      metadata: { taskId: this.#log.taskId, limit: "maxTaskBytes", maxTaskBytes: String(maxTaskBytes) },
    });
  }

  now(): number {
    return this.#source.now();
  }

  #note({ name, attempts, started, outcome }: EndedStep, now: number): void {
    const facts = { step: name, attempts, ms: now - started, failed: "failure" in outcome };
    this.#logger.debug(facts, "a step is stored");
  }
}
