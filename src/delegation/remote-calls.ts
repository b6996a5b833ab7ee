import {
  type CallingTurn,
  type DelegatedContent,
  type DelegateOptions,
  isSend,
  type OutgoingCalls,
  type ParentTask,
  type RelayCheckpoint,
  type RelayedEvent,
  type RemoteAgent,
  type SubTask,
  type TurnCallOptions,
  type TurnCalls,
} from "../agent/delegation.js";
import { TurnPaused } from "../agent/errors.js";
import type { AgentEvent } from "../agent/event.js";
import { MAX_NAME, storedName } from "../agent/stored-name.js";
import { classOf } from "../agent/turn-span.js";
import { completionReason, onceDone } from "../core/async.js";
import { lazyImport } from "../core/lazy.js";
import { CauseLogger } from "../core/log.js";
import {
  anything,
  assertOptions,
  aText,
  expects,
  listOf,
  type OptionChecks,
  oneOf,
  typeName,
} from "../core/options.js";
import { a2a, parley, spanNames } from "../telemetry/names.js";
import { iteratedIn, type TracedSpan } from "../telemetry/tracer.js";
import { isJsonObject } from "../wire/json-struct.js";
import { PendingAnswers } from "./pending-answers.js";
import { Remotes, type RemotesOptions, remoteBounds } from "./remotes.js";

// Loaded only by servers whose agents call others.
const theClient = lazyImport(() => import("./remote-agent.js"));
const theRelay = lazyImport(() => import("./delegate.js"));

/** Characters of stored names. A slash would make artifact ids ambiguous. */
const NAME = /^[\w.-]*$/;
const MAX_STORED_NAME = 64;

const checksOfCall: OptionChecks<TurnCallOptions> = {
  timeoutMs: expects("a number of at least 0", (value) => typeof value === "number" && value >= 0),
};

const checksOfDelegate: OptionChecks<DelegateOptions> = {
  name: aText(),
  contextId: aText(),
  acceptedOutputModes: listOf(aText(), true),
  metadata: expects("an object", isJsonObject, typeName),
  artifacts: oneOf(["hide", "relay"]),
  answer: anything(),
};

/** Calls of other agents by turns. */
export class RemoteCalls implements OutgoingCalls {
  readonly #remotes: Remotes;
  readonly #options: RemotesOptions;

  constructor(options: RemotesOptions) {
    this.#options = options;
    this.#remotes = new Remotes(options);
  }

  of(turn: CallingTurn): TurnCalls {
    return new CallsOfTurn(turn, this.#remotes, this.#options);
  }

  cancelSubTask(checkpoint: RelayCheckpoint, task: ParentTask): Promise<void> {
    return this.#remotes.cancelSubTask(checkpoint, task);
  }

  get names(): readonly string[] {
    return this.#remotes.names;
  }

  /** The agents by name. */
  get agents(): Pick<Remotes, "names" | "passesCallers" | "add" | "remove"> {
    return this.#remotes;
  }

  /** Closes the connections; further calls are rejected. */
  close(): Promise<void> {
    return this.#remotes.close();
  }
}

class CallsOfTurn implements TurnCalls {
  readonly #turn: CallingTurn;
  readonly #remotes: Remotes;
  readonly #options: RemotesOptions;
  readonly #names = new Set<string>();
  readonly #pause = new AbortController();
  readonly #answers = new PendingAnswers();
  /** Fires when the turn ends. */
  readonly #end = new AbortController();
  /** Fires when its delegations end. */
  readonly #endDelegations = new AbortController();
  /** Open streams. */
  readonly #open = new Set<AsyncGenerator<unknown, unknown>>();
  /** Open delegations. */
  readonly #delegations = new Set<AsyncGenerator<unknown, unknown>>();
  /** Sub-tasks that this turn handles, by `placeKey`. */
  readonly #seen = new Set<string>();
  /** Cancels in progress of sub-tasks that this turn has abandoned. */
  readonly #canceling = new Set<Promise<void>>();
  /** The context in which each agent began to work last in this turn, by the agent's name. */
  readonly #contexts = new Map<string, string>();
  /** Reads the events relayed before this turn. */
  readonly #relayed: () => Promise<readonly RelayedEvent[]>;

  constructor(turn: CallingTurn, remotes: Remotes, options: RemotesOptions) {
    this.#turn = turn;
    this.#remotes = remotes;
    this.#options = options;
    this.#relayed = onceDone(() => turn.relayed());
  }

  async call(agent: string, options: TurnCallOptions = {}): Promise<RemoteAgent> {
    assertOptions("turn.call(agent, options)", options, checksOfCall);
    const { timeoutMs = this.#options.limits.remoteTimeoutMs } = options;
    const remote = this.#remotes.for(this.#turn, agent);
    const turn = this.#turn;
    const { signal } = turn;
    const end = this.#end.signal;
    const { remoteAgent } = await theClient();
    const { card } = await remote.client();
    const msLeft = (): number => turn.deadline - Date.now();
    const acquire = (): (() => void) => this.#remotes.acquire(agent);
    return remoteAgent(card, { remote, signal, end, open: this.#open, timeoutMs, msLeft, acquire });
  }

  /** Names are assigned in the order of the calls, not when the first event is requested. */
  delegate(
    agent: string,
    message: DelegatedContent | undefined,
    options: DelegateOptions = {},
  ): AsyncGenerator<AgentEvent, SubTask, undefined> {
    if (this.#turn.request.message.taskId === "") {
      throw new TypeError("An agent that answers directly has no task that another one could be relayed to.");
    }
    if (this.#endDelegations.signal.aborted) throw new TypeError("The turn is over.");
    assertOptions("turn.delegate(agent, message, options)", options, checksOfDelegate);
    const name = this.#nameOf(options.name);
    const delegation = this.#delegate(agent, message, { ...options, name }, (isOpen) => {
      if (isOpen) this.#delegations.add(delegation);
      else this.#delegations.delete(delegation);
    });
    return delegation;
  }

  sees(checkpoint: RelayCheckpoint): boolean {
    return this.#seen.has(placeKey(checkpoint));
  }

  async cancelSubTasks(): Promise<void> {
    await this.#closeDelegations();
    await Promise.all(this.#canceling);
  }

  end(isPaused: boolean): void {
    if (isPaused) {
      this.#pause.abort();
      this.#seen.clear();
    }
    this.#end.abort(completionReason);
    // A generator whose next event is never requested learns of the end only this way.
    for (const each of this.#open) each.return(undefined).catch(() => {});
    void this.#closeDelegations();
  }

  async #closeDelegations(): Promise<void> {
    this.#endDelegations.abort(completionReason);
    await Promise.all([...this.#delegations].map((each) => each.return(undefined).catch(() => {})));
  }

  #cancelSubTask(checkpoint: RelayCheckpoint): void {
    const canceling = this.#remotes
      .cancelSubTask(checkpoint, this.#turn.request)
      .finally(() => this.#canceling.delete(canceling));
    this.#canceling.add(canceling);
  }

  async *#delegate(
    agent: string,
    message: DelegatedContent | undefined,
    options: DelegateOptions & { readonly name: string },
    note: (isOpen: boolean) => void,
  ): AsyncGenerator<AgentEvent, SubTask, undefined> {
    const release = this.#remotes.acquire(agent);
    const { request } = this.#turn;
    const { limits, logger, agentName } = this.#options;
    const span = this.#turn.span && delegationSpan(this.#turn.span, this.#remotes.names, agent, options.name);
    note(true);
    try {
      const { delegate } = await theRelay();
      const events = await this.#relayed();
      const relayed = delegate({
        turn: this.#turn,
        agent,
        name: options.name,
        message,
        options,
        remote: this.#remotes.for(this.#turn, agent),
        events,
        // The rest of the grace period is for the agent that has to stop here.
        cancelMs: limits.cancelGraceMs / 2,
        outageMs: remoteBounds.maxOutageMs,
        pause: this.#pause,
        answers: this.#answers,
        end: this.#endDelegations.signal,
        logger: new CauseLogger(logger, request, agentName(request.tenant)),
        cancelSubTask: (checkpoint) => this.#cancelSubTask(checkpoint),
        contextBefore: () => this.#contextBefore(agent, options.name, events),
        worksIn: (contextId) => void (contextId !== "" && this.#contexts.set(agent, contextId)),
        seen: (place) => this.#seen.add(placeKey(place)),
      });
      return yield* span === undefined ? relayed : iteratedIn(span, relayed);
    } catch (error) {
      if (!(error instanceof TurnPaused)) span?.fail(classOf(error));
      throw error;
    } finally {
      span?.end();
      note(false);
      release();
    }
  }

  /**
   * Returns the context in which an agent worked for this conversation: for the delegation of this name in an earlier
   * turn, or else last in this turn, in an earlier one, or in an earlier task.
   */
  async #contextBefore(agent: string, name: string, events: readonly RelayedEvent[]): Promise<string | undefined> {
    const known = events
      .map(({ checkpoint }) => checkpoint)
      .filter((checkpoint) => checkpoint.agent === agent && checkpoint.contextId !== "" && !isSend(checkpoint));
    const same = known.findLast(({ delegation }) => delegation === name)?.contextId;
    const last = same ?? this.#contexts.get(agent) ?? known.at(-1)?.contextId;
    return last ?? this.#turn.contextBefore(agent, name);
  }

  #nameOf(given: string | undefined): string {
    if (given === "" || (given?.length ?? 0) > MAX_NAME) {
      throw new TypeError(`The name of a delegation has 1 to ${MAX_NAME} characters.`);
    }
    const name = storedName(given ?? String(this.#names.size), MAX_STORED_NAME, NAME);
    if (this.#names.has(name)) throw new TypeError(`This turn has a delegation of the name ${name} already.`);
    this.#names.add(name);
    return name;
  }
}

/** Begins the span of a delegation. An agent that the options do not name is not named: its URL may have secrets. */
function delegationSpan(turn: TracedSpan, names: readonly string[], agent: string, delegation: string): TracedSpan {
  const name = names.includes(agent) ? agent : undefined;
  const span = turn.child(name === undefined ? spanNames.delegation : `${spanNames.delegation} ${name}`);
  span.set(a2a.agentName, name);
  span.set(parley.delegation, delegation);
  return span;
}

/** Identifies a sub-task within its task. */
function placeKey({ origin, delegation }: Pick<RelayCheckpoint, "origin" | "delegation">): string {
  return `${origin}.${delegation}`;
}
