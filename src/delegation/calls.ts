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
import type { Logger } from "../core/log.js";
import { Remotes, type RemotesOptions } from "./remotes.js";

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

  leave(mark: RelayMark): void {
    this.#remotes.leave(mark);
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
    // Loaded by servers whose agents call others, and by no other.
    const { remoteAgent } = await import("./remote-agent.js");
    const { card } = await remote.client();
    const msLeft = (): number => turn.deadline - Date.now();
    return remoteAgent(card, { remote, signal, timeoutMs, msLeft, enter: () => this.#remotes.enter(agent) });
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
    return this.#delegate(agent, message, { ...options, name: this.#nameOf(options.name) });
  }

  async *#delegate(
    agent: string,
    message: DelegatedContent | undefined,
    options: DelegateOptions & { readonly name: string },
  ): AsyncGenerator<AgentEvent, SubTask, undefined> {
    const leave = this.#remotes.enter(agent);
    try {
      this.#events ??= this.#turn.relayed();
      const { delegate } = await import("./delegate.js");
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
        logger: this.#logger,
        leave: (mark) => this.#remotes.leave(mark),
      });
    } finally {
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
