import type { Command } from "commander";
import { A2AError } from "../../core/error.js";
import { attempt } from "../../core/members.js";
import { signalCode } from "../exit.js";
import type { Io } from "../io.js";
import { type Agent, connectAgent } from "./agent.js";
import { Failure, usageOf } from "./errors.js";
import { failureOf } from "./failures.js";
import { wholeNumber } from "./kinds.js";
import type { Output } from "./output.js";
import { resumeWords } from "./resume.js";
import type { Scope } from "./scope.js";
import type { SettingName, Values } from "./settings.js";
import type { GivenFlag, Resolved } from "./sources.js";

/** The context of a running command. */
export class Context implements Scope {
  readonly io: Io;
  readonly out: Output;
  readonly settings: Values;
  readonly resolved: Resolved;
  readonly given: readonly GivenFlag[];
  /** All commands, as the help shows them. */
  readonly program: Command;
  #onCut: () => void = () => {};
  readonly #stop = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #budgetMs = 0;
  #agent: Agent | undefined;
  readonly #closing: (() => Promise<void>)[] = [];
  #usesLogin = false;
  #hasFaults = false;
  #task: { readonly id: string; readonly contextId: string } | undefined;

  constructor(io: Io, out: Output, resolved: Resolved, given: readonly GivenFlag[], program: Command) {
    this.io = io;
    this.out = out;
    this.resolved = resolved;
    this.settings = resolved.values;
    this.given = given;
    this.program = program;
    if (io.interrupted.aborted) this.#onInterrupt();
    io.interrupted.addEventListener("abort", this.#onInterrupt);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get task(): { readonly id: string; readonly contextId: string } | undefined {
    return this.#task;
  }

  /** Exit status of a run without an error. */
  get exit(): number {
    return this.#hasFaults ? 1 : 0;
  }

  /** Notes that the command found faults, for its exit status. */
  noteFaults(): void {
    this.#hasFaults = true;
  }

  get usesLogin(): boolean {
    return this.#usesLogin;
  }

  noteLogin(): void {
    this.#usesLogin = true;
  }

  onClose(close: () => Promise<void>): void {
    this.#closing.push(close);
  }

  end(failure: Failure): void {
    this.#stop.abort(failure);
  }

  /** Sets the function that is called when a stream loses its connection. The stream is then resumed. */
  onCut(tell: () => void): void {
    this.#onCut = tell;
  }

  noteCut(): void {
    this.#onCut();
  }

  /** Records the task, which hints name from now on. */
  noteTask(id: string, contextId: string): void {
    if (id !== "") this.#task = { id, contextId };
  }

  /** Writes the ids of the task, if known, to stderr. */
  noteIds(): void {
    if (this.#task === undefined) return;
    this.out.note(`Task ID: ${this.#task.id}`);
    if (this.#task.contextId !== "") this.out.note(`Context ID: ${this.#task.contextId}`);
  }

  /** Reads the agent's card and chooses an interface, once. @throws Failure */
  async agent(): Promise<Agent> {
    this.#agent ??= await connectAgent(this);
    return this.#agent;
  }

  /** True if the flag of a setting was given. */
  isFlag(name: SettingName): boolean {
    return this.resolved.sources[name].kind === "flag";
  }

  /** Values of an option of this command. */
  own(...names: readonly string[]): readonly string[] {
    return this.given.filter(({ name }) => names.includes(name)).map(({ value }) => (value === true ? "true" : value));
  }

  /** Starts the timer of `--timeout`, which ends the run. */
  startBudget(): void {
    this.#budgetMs = this.settings.timeout;
    this.touch();
  }

  /** Restarts the timer of `--timeout`. */
  touch(): void {
    clearTimeout(this.#timer);
    if (this.#budgetMs > 0) this.#timer = setTimeout(() => this.#stop.abort(this.#timeoutFailure()), this.#budgetMs);
  }

  /** Stops the timer of `--timeout`. */
  endBudget(): void {
    clearTimeout(this.#timer);
    this.#budgetMs = 0;
  }

  /** Returns a command that waits for the task of this one. */
  waitCommand(id: string): string {
    return resumeWords(this, ["task", "get"], id, "--wait");
  }

  failure(thrown: unknown): Failure {
    const reason: unknown = this.#stop.signal.reason;
    if (reason instanceof Failure && (thrown === reason || thrown instanceof A2AError)) return reason;
    return failureOf(thrown, this);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.io.interrupted.removeEventListener("abort", this.#onInterrupt);
    await this.#agent?.client.close();
    for (const close of this.#closing) await close();
  }

  #timeoutFailure(): Failure {
    const hint = this.#task === undefined ? "raise --timeout" : this.waitCommand(this.#task.id);
    return new Failure("A2ACLI_ERR_TIMEOUT", `Nothing more came within ${this.#budgetMs} ms (--timeout).`, { hint });
  }

  readonly #onInterrupt = (): void => {
    const name: NodeJS.Signals = this.io.interrupted.reason;
    const hint = this.#task === undefined ? null : this.waitCommand(this.#task.id);
    this.noteIds();
    const exit = signalCode(name);
    this.#stop.abort(new Failure("PARLEY_ERR_INTERRUPTED", `${name} ended the wait.`, { hint, exit }));
  };
}

/** A command's implementation. @param operands arguments that are not options */
export type Run = (context: Context, operands: readonly string[]) => Promise<void>;

/** Reads an option of a command; undefined if it was not given. @throws Failure for a value that is not valid */
export function ownOption<T>(context: Context, name: string, read: (text: string) => T): T | undefined {
  const text = context.own(name).at(-1);
  return text === undefined ? undefined : attempt(() => read(text), usageOf(`--${name}: ${JSON.stringify(text)} `));
}

/** Returns the field for `--history`; without the option the agent decides. */
export function historyLength(context: Context): { readonly historyLength?: number } {
  const length = ownOption(context, "history", wholeNumber(0, 2 ** 31 - 1));
  return length === undefined ? {} : { historyLength: length };
}
