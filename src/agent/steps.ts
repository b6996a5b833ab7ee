import type { JsonValue } from "@bufbuild/protobuf";
import { backoffMs, bounded, ignore, pause, share } from "../core/async.js";
import { utf8LengthOf } from "../core/bytes.js";
import { membersOf } from "../core/members.js";
import { aFunction, aText, aWholeNumber, described, type OptionChecks, oneOf, optionFaults } from "../core/options.js";
import type { StepRecord } from "../task/step-records.js";
import type { TracedSpan } from "../telemetry/tracer.js";
import type { TurnAborter } from "./abort.js";
import { AgentError, StepError, StepOrderError, TurnPaused } from "./errors.js";
import { jsonCopy } from "./json-copy.js";
import { MAX_NAME, storedName } from "./stored-name.js";
import { inStepSpan } from "./turn-span.js";

/** Options of `turn.step`. */
export interface StepOptions {
  /**
   * `turn` (default): the stored result comes back when the turn runs again after a crash. `task`: also in every later
   * turn of the task.
   */
  readonly per?: "turn" | "task";
  /** Further attempts after an error. Default 0: the first error is stored. */
  readonly retries?: number;
  /** Pause before the first retry, in milliseconds. It doubles with each further one, up to a minute. Default 1,000. */
  readonly backoffMs?: number;
  /** Timeout of each attempt, in milliseconds: its signal fires, and the attempt has failed. Default: none. */
  readonly timeoutMs?: number;
}

/** Work of a step. The signal fires when the turn's does, and at the step's timeout. */
export type StepWork<T> = (signal: AbortSignal) => T | PromiseLike<T>;

/** Outcome of a step: a result as JSON, undefined for a result of `undefined`, or the error of its last attempt. */
export type StepOutcome = { readonly json: string | undefined } | { readonly failure: StepFailure };

/** The error that a step ended with. */
export interface StepFailure {
  readonly name: string;
  readonly message: string;
  readonly agentError: boolean;
}

/** Place of a step in its turn. See `Step` in proto/parley/log/v1. */
type StepPlace = Pick<StepRecord, "name" | "count" | "call" | "perTask" | "overlaps">;

/** A step to be stored. */
export interface EndedStep extends StepPlace {
  readonly attempts: number;
  /** Start of the last attempt, in milliseconds since the epoch. */
  readonly started: number;
  readonly outcome: StepOutcome;
}

/** Keeps the steps of a task's turns. A turn is named by the position of its message. */
export interface StepJournal {
  /** True while entries of the turn can be stored: it runs and its task has not ended. */
  mayStore(turn: number): boolean;
  /** Returns the stored steps that the turn may ask for. */
  stored(turn: number): readonly StepRecord[];
  /** Returns the outcome of a stored step, by the position of its entry. */
  read(position: number): Promise<StepOutcome>;
  /**
   * Number of changes of the conversation's state up to the last step whose stored result the running turn has reused.
   * Changes inside such steps are not made again.
   */
  reusedChanges(): number;
  /** Stores a step. Resolves when it is stored. */
  append(turn: number, step: EndedStep): Promise<unknown>;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The turn of steps. */
interface StepTurn {
  /** Position of its message. */
  readonly position: number;
  readonly aborter: Pick<TurnAborter, "reason" | "signal">;
  /** The span of the turn, if spans are created. */
  readonly span?: TracedSpan | undefined;
}

/** Maximum size of a result as JSON, in bytes of UTF-8 (1 MiB). */
export const MAX_RESULT_BYTES = 1_048_576;

/** Maximum number of steps of a turn: the task keeps the place of each in memory. */
const MAX_STEPS = 10_000;

/** Maximum characters of a stored name. */
const MAX_STORED_NAME = 128;

/** Maximum characters of a stored error text. */
const MAX_MESSAGE = 10_000;

const DEFAULT_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** Maximum length of a timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const checks: OptionChecks<StepOptions> = {
  per: oneOf(["turn", "task"]),
  retries: aWholeNumber(0, 1_000),
  backoffMs: aWholeNumber(0, MAX_TIMER_MS),
  timeoutMs: aWholeNumber(1, MAX_TIMER_MS),
};

const noOptions: StepOptions = {};

/** A step that runs. */
interface RunningStep extends StepPlace {
  /** Set when another step begins. */
  overlaps: boolean;
}

/** Runs the steps of one turn, each once: a stored result comes back instead. */
export class TurnSteps {
  readonly #turn: StepTurn;
  /** Undefined before a task exists. */
  #journal: StepJournal | undefined;
  /** Steps that ended before a task existed. */
  #kept: EndedStep[] = [];
  /** Undefined if nothing is stored that the turn could ask for. */
  readonly #known: StoredSteps | undefined;
  #calls = 0;
  /** Number of calls by name: of steps of the turn, and of steps of the task. */
  readonly #ofTurn = new Map<string, number>();
  readonly #ofTask = new Map<string, number>();
  /** Running steps by name. */
  readonly #running = new Map<string, RunningStep>();

  constructor(turn: StepTurn, journal: StepJournal | undefined) {
    this.#turn = turn;
    this.#journal = journal;
    const stored = journal?.stored(turn.position) ?? [];
    this.#known = stored.length === 0 ? undefined : new StoredSteps(turn.position, stored);
  }

  /** Stores steps from now on, and those that have ended before. Called when the turn's first event creates a task. */
  storeIn(journal: StepJournal): void {
    this.#journal = journal;
    // A failure ends the execution, which stores nothing more.
    for (const step of this.#kept.splice(0)) journal.append(this.#turn.position, step).catch(ignore);
  }

  /** Tells whether the next step of a name is stored, so that it would not run. */
  has(name: string, per: "turn" | "task"): boolean {
    const perTask = per === "task";
    const key = storedName(name, MAX_STORED_NAME);
    return this.#known?.has({ name: key, count: this.#calledBefore(key, perTask) + 1, perTask }) === true;
  }

  /** See `Turn.step`. */
  run<T>(name: string, work: StepWork<T>, options: StepOptions = noOptions): Promise<T> {
    const result = this.#run(name, work, options);
    // An author may not wait for it, and an unhandled rejection would end the process.
    result.catch(ignore);
    return result;
  }

  async #run<T>(given: string, work: StepWork<T>, options: StepOptions): Promise<T> {
    checkCall(given, work, options);
    const name = storedName(given, MAX_STORED_NAME);
    const step = this.#begin(name, options.per === "task");
    const { span } = this.#turn;
    try {
      const known = this.#known?.find(step);
      // The program says the type, here and below; the value was copied from one of that type.
      if (known !== undefined) return (await this.#replay(step, known)) as T;
      const attempts = (): Promise<T> => this.#attempts(step, work, options);
      return await (span === undefined ? attempts() : inStepSpan(span, name, attempts));
    } finally {
      this.#running.delete(name);
    }
  }

  async #attempts<T>(step: RunningStep, work: StepWork<T>, options: StepOptions): Promise<T> {
    const { signal } = this.#turn.aborter;
    const { timeoutMs } = options;
    for (let attempts = 1; ; attempts++) {
      this.#checkOpen(step);
      const started = this.#now();
      let value: T;
      try {
        value = await (timeoutMs === undefined ? work(signal) : limited(work, signal, timeoutMs));
      } catch (error) {
        // Resolves if it is to be tried again.
        await this.#failed(step, { attempts, started, error }, options);
        continue;
      }
      const { json, copy } = resultOf(step.name, value);
      await this.#store(step, attempts, started, { json });
      return copy as T;
    }
  }

  #begin(name: string, perTask: boolean): RunningStep {
    if (this.#running.has(name)) {
      throw new TypeError(`The step "${name}" is running: steps that run at the same time need names of their own.`);
    }
    if (this.#calls >= MAX_STEPS) throw new RangeError(`A turn may have at most ${MAX_STEPS} steps.`);
    const call = ++this.#calls;
    const count = this.#calledBefore(name, perTask) + 1;
    (perTask ? this.#ofTask : this.#ofTurn).set(name, count);
    const step = { name, count, call, perTask, overlaps: this.#running.size > 0 };
    for (const other of this.#running.values()) other.overlaps = true;
    this.#running.set(name, step);
    return step;
  }

  #calledBefore(name: string, perTask: boolean): number {
    return (perTask ? this.#ofTask : this.#ofTurn).get(name) ?? 0;
  }

  async #replay({ name }: StepPlace, { position }: StepRecord): Promise<JsonValue | undefined> {
    // Records are those of the journal.
    const outcome = await this.#journal?.read(position);
    if (outcome === undefined) return undefined;
    if ("failure" in outcome) throw stepError(name, outcome.failure);
    return outcome.json === undefined ? undefined : (JSON.parse(outcome.json) as JsonValue);
  }

  /** Handles the error of an attempt: waits for the next one, or stores it and throws. */
  async #failed(
    step: RunningStep,
    { attempts, started, error }: { readonly attempts: number; readonly started: number; readonly error: unknown },
    { retries = 0, backoffMs: firstMs = DEFAULT_BACKOFF_MS }: StepOptions,
  ): Promise<void> {
    const { aborter } = this.#turn;
    if (aborter.reason !== undefined) throw aborter.reason;
    // The work continues in the next turn.
    if (error instanceof TurnPaused) throw error;
    if (attempts > retries) {
      const failure = stepFailure(error);
      await this.#store(step, attempts, started, { failure });
      throw stepError(step.name, failure, { cause: error });
    }
    share(aborter.signal);
    await pause(backoffMs(attempts, { firstMs, maxMs: MAX_BACKOFF_MS, jitter: 0 }), aborter.signal);
  }

  /** Checks that the result can be stored, before the work begins. */
  #checkOpen({ name }: StepPlace): void {
    const { position, aborter } = this.#turn;
    if (aborter.reason !== undefined) throw aborter.reason;
    if (this.#journal?.mayStore(position) === false)
      throw new Error(`The turn is over: the step "${name}" is not run.`);
  }

  #now(): number {
    return this.#journal?.now() ?? Date.now();
  }

  #store(step: RunningStep, attempts: number, started: number, outcome: StepOutcome): Promise<unknown> | undefined {
    const { name, count, call, perTask, overlaps } = step;
    const ended: EndedStep = { name, count, call, perTask, overlaps, attempts, started, outcome };
    if (this.#journal !== undefined) return this.#journal.append(this.#turn.position, ended);
    this.#kept.push(ended);
    return undefined;
  }
}

/** The steps that earlier runs of a turn, and its earlier turns, have stored. */
class StoredSteps {
  readonly #turn: number;
  /** Stored steps by `stepKey`. */
  readonly #byKey = new Map<string, StepRecord>();
  /** Stored steps of the turn itself, by the number of their call. */
  readonly #byCall = new Map<number, StepRecord>();

  constructor(turn: number, records: readonly StepRecord[]) {
    this.#turn = turn;
    for (const record of records) {
      this.#byKey.set(stepKey(record), record);
      if (record.turn !== turn) continue;
      // Two runs may have given steps that overlap the same number.
      const isTaken = this.#byCall.has(record.call);
      this.#byCall.set(record.call, isTaken ? { ...record, overlaps: true } : record);
    }
  }

  has(step: Pick<StepPlace, "name" | "count" | "perTask">): boolean {
    return this.#byKey.has(stepKey(step));
  }

  /** Returns the stored step, or undefined if it has not run. @throws StepOrderError */
  find(step: StepPlace): StepRecord | undefined {
    const known = this.#byKey.get(stepKey(step));
    const before = this.#byCall.get(step.call);
    const isOfTurn = known?.turn === this.#turn;
    const moved = before === undefined ? isOfTurn && known.call !== step.call : before !== known;
    const mayMove = step.overlaps || before?.overlaps === true || (isOfTurn && known.overlaps);
    if (moved && !mayMove) throw orderError(step, before ?? known);
    return known;
  }
}

/** Identifies a step of a turn, or of a task. */
function stepKey({ name, count, perTask }: Pick<StepPlace, "name" | "count" | "perTask">): string {
  return `${perTask ? "task" : "turn"} ${count} ${name}`;
}

function orderError(asked: StepPlace, stored: StepPlace | undefined): StepOrderError {
  const shown = ({ name, count }: StepPlace): string => (count === 1 ? `"${name}"` : `"${name}" (number ${count})`);
  const was = stored === undefined ? "another one" : `${shown(stored)} as number ${stored.call}`;
  return new StepOrderError(
    `The turn asks for the step ${shown(asked)} as number ${asked.call}; an earlier run of it had ${was}. ` +
      "A program that changes the order of its steps cannot continue turns that began before.",
  );
}

function isStepName(text: string): boolean {
  return text !== "" && text.length <= MAX_NAME;
}

/** @throws TypeError */
function checkCall(name: unknown, work: unknown, options: unknown): void {
  if (typeof name === "string" && isStepName(name) && typeof work === "function" && options === noOptions) return;
  const faults = [
    ...aText(`a text of at most ${MAX_NAME} characters`, isStepName)("name", name),
    ...aFunction()("fn", work),
    ...optionFaults(options, checks),
  ];
  if (faults.length > 0) throw new TypeError(`turn.step(name, fn, options): ${faults.join("; ")}.`);
}

/** Runs an attempt with a timeout. */
async function limited<T>(work: StepWork<T>, signal: AbortSignal, timeoutMs: number): Promise<T> {
  const own = new AbortController();
  share(signal);
  const forward = (): void => own.abort(signal.reason);
  signal.addEventListener("abort", forward);
  const onTimeout = (): Error => {
    const error = new Error(`it took longer than ${timeoutMs} ms`);
    own.abort(error);
    return error;
  };
  try {
    return await bounded(Promise.resolve(work(own.signal)), { timeout: { ms: timeoutMs, error: onTimeout } });
  } finally {
    signal.removeEventListener("abort", forward);
  }
}

/** Returns a result as it is stored and as later runs get it. @throws TypeError, RangeError */
function resultOf(name: string, value: unknown): { readonly json: string | undefined; readonly copy?: JsonValue } {
  if (value === undefined) return { json: undefined };
  const copy = jsonCopy(`The result of the step "${name}"`, value);
  const json = JSON.stringify(copy);
  // No character takes more than three bytes.
  const bytes = json.length * 3 <= MAX_RESULT_BYTES ? 0 : utf8LengthOf(json);
  if (bytes > MAX_RESULT_BYTES) {
    throw new RangeError(
      `The result of the step "${name}" has ${bytes} bytes as JSON, of at most ${MAX_RESULT_BYTES}.`,
    );
  }
  return { json, copy };
}

/** Describes an error. Authors may throw any value, even one whose properties throw. */
function stepFailure(error: unknown): StepFailure {
  try {
    const { name, message } = membersOf(error);
    const text = typeof message === "string" ? message : described(error);
    return {
      name: typeof name === "string" ? name.slice(0, MAX_STORED_NAME).toWellFormed() : "Error",
      message: (text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE)}…`).toWellFormed(),
      agentError: error instanceof AgentError,
    };
  } catch {
    return { name: "Error", message: described(error), agentError: false };
  }
}

function stepError(step: string, { message, agentError }: StepFailure, options?: ErrorOptions): Error {
  return agentError ? new AgentError(message, options) : new StepError(step, message, options);
}
