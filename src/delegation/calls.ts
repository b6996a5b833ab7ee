import type {
  CallingTurn,
  CallOptions,
  DelegatedContent,
  DelegateOptions,
  OutgoingCalls,
  RelayedEvent,
  RelayMark,
  RemoteAgent,
  SubTask,
  TurnCalls,
} from "../agent/delegation.js";
import type { AgentEvent } from "../agent/event.js";
import { over } from "../core/cancellation.js";
import { latePart } from "../core/late-part.js";
import type { Logger } from "../core/log.js";
import { Answers } from "./answers.js";
import { Remotes, type RemotesOptions } from "./remotes.js";

// Loaded by servers whose agents call others, and by no other.
const theClient = latePart(() => import("./remote-agent.js"));
const theRelay = latePart(() => import("./delegate.js"));

/** What a delegation may be called. A slash would make the ids of artifacts ambiguous. */
const NAME = /^[\w.-]{1,64}$/;

/** Calls of other agents, as turns make them. */
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

  leave(mark: RelayMark): Promise<void> {
    return this.#remotes.leave(mark);
  }

  /** Closes the connections; nothing is called any more. */
  close(): Promise<void> {
    return this.#remotes.close();
  }
}

class CallsOfTurn implements TurnCalls {
  readonly #turn: CallingTurn;
  readonly #remotes: Remotes;
  readonly #limits: RemotesOptions["limits"];
  readonly #logger: Logger;
  readonly #names = new Set<string>();
  readonly #pause = new AbortController();
  readonly #answers = new Answers();
  /** Fires when the turn is over. */
  readonly #end = new AbortController();
  /** Fires when its delegations are. */
  readonly #endDelegations = new AbortController();
  /** Streams that have begun, and are not over. */
  readonly #open = new Set<AsyncGenerator<unknown, unknown>>();
  /** Delegations that have begun, and are not over. */
  readonly #delegations = new Set<AsyncGenerator<unknown, unknown>>();
  /** Sub-tasks that this turn sees to, by `placeKey`. */
  readonly #seen = new Set<string>();
  /** Sub-tasks that are being canceled because this turn has left them. */
  readonly #leaving = new Set<Promise<void>>();
  #events: Promise<readonly RelayedEvent[]> | undefined;

  constructor(turn: CallingTurn, remotes: Remotes, { limits, logger }: RemotesOptions) {
    this.#turn = turn;
    this.#remotes = remotes;
    this.#limits = limits;
    this.#logger = logger;
  }

  async call(agent: string, { timeoutMs = this.#limits.remoteTimeoutMs }: CallOptions = {}): Promise<RemoteAgent> {
    const remote = this.#remotes.for(this.#turn, agent);
    const turn = this.#turn;
    const { signal } = turn;
    const end = this.#end.signal;
    const { remoteAgent } = await theClient();
    const { card } = await remote.client();
    const msLeft = (): number => turn.deadline - Date.now();
    const enter = (): (() => void) => this.#remotes.enter(agent);
    return remoteAgent(card, { remote, signal, end, open: this.#open, timeoutMs, msLeft, enter });
  }

  /** Names are given when it is called, in the order of the calls, and not when its first event is asked for. */
  delegate(
    agent: string,
    message: DelegatedContent | undefined,
    options: DelegateOptions = {},
  ): AsyncGenerator<AgentEvent, SubTask, undefined> {
    if (this.#turn.request.message.taskId === "") {
      throw new TypeError("An agent that answers directly has no task that another one could be relayed to.");
    }
    if (this.#endDelegations.signal.aborted) throw new TypeError("The turn is over.");
    const name = this.#nameOf(options.name);
    const delegation = this.#delegate(agent, message, { ...options, name }, (isOpen) => {
      if (isOpen) this.#delegations.add(delegation);
      else this.#delegations.delete(delegation);
    });
    return delegation;
  }

  sees(mark: RelayMark): boolean {
    return this.#seen.has(placeKey(mark));
  }

  async leave(): Promise<void> {
    await this.#closeDelegations();
    await Promise.all(this.#leaving);
  }

  end(isPaused: boolean): void {
    if (isPaused) {
      this.#pause.abort();
      this.#seen.clear();
    }
    this.#end.abort(over);
    // One whose next event nobody asks for learns of it by this alone.
    for (const each of this.#open) each.return(undefined).catch(() => {});
    void this.#closeDelegations();
  }

  async #closeDelegations(): Promise<void> {
    this.#endDelegations.abort(over);
    await Promise.all([...this.#delegations].map((each) => each.return(undefined).catch(() => {})));
  }

  #leave(mark: RelayMark): void {
    const leaving = this.#remotes.leave(mark).finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  async *#delegate(
    agent: string,
    message: DelegatedContent | undefined,
    options: DelegateOptions & { readonly name: string },
    note: (isOpen: boolean) => void,
  ): AsyncGenerator<AgentEvent, SubTask, undefined> {
    const leave = this.#remotes.enter(agent);
    note(true);
    try {
      this.#events ??= this.#turn.relayed();
      const { delegate } = await theRelay();
      return yield* delegate({
        turn: this.#turn,
        agent,
        name: options.name,
        message,
        options,
        remote: this.#remotes.for(this.#turn, agent),
        events: await this.#events,
        // What is left of the grace is for the agent that is to stop here.
        cancelMs: this.#limits.cancelGraceMs / 2,
        outageMs: this.#limits.maxRemoteOutageMs,
        pause: this.#pause,
        answers: this.#answers,
        end: this.#endDelegations.signal,
        logger: this.#logger,
        leave: (mark) => this.#leave(mark),
        seen: (place) => this.#seen.add(placeKey(place)),
      });
    } finally {
      note(false);
      leave();
    }
  }

  #nameOf(given: string | undefined): string {
    const name = given ?? String(this.#names.size);
    if (!NAME.test(name)) throw new TypeError("The name of a delegation has 1 to 64 letters, digits, dots or dashes.");
    if (this.#names.has(name)) throw new TypeError(`This turn has a delegation of the name ${name} already.`);
    this.#names.add(name);
    return name;
  }
}

/** What tells a sub-task from the others of its task. */
function placeKey({ origin, delegation }: Pick<RelayMark, "origin" | "delegation">): string {
  return `${origin}.${delegation}`;
}
