import { ignore } from "../core/async.js";
import type { AgentEvent } from "./event.js";
import type { TurnRequest } from "./turn-request.js";

type Result = IteratorResult<AgentEvent>;

/**
 * Offers a yielded event before the reader gets it. Returns undefined if the event was taken and the agent may continue,
 * otherwise the result for the reader.
 */
export type Take = (result: Result) => Result | undefined;

/** The events of a turn as its engine reads them. */
export type EventReader = Pick<AgentEvents, "next" | "rest"> & Partial<Pick<AgentEvents, "return">>;

/** Receives the events that a turn emits after its end. */
export interface LateEvents {
  late(turn: TurnRequest, event: unknown): void;
}

/** An event, or the error of the agent, that nothing has read. */
interface Unread {
  readonly give: () => void;
  /** Set for an emitted event: called when the reader wants the next one. */
  readonly taken?: () => void;
}

/**
 * The events of a turn in their order: those that its agent yields and those that it emits. `next` must not be called
 * again before it has settled. It creates no more than two promises for a read, however many events `take` takes.
 */
export class AgentEvents implements AsyncIterator<AgentEvent> {
  #agent: AsyncIterator<AgentEvent> | undefined;
  /** Undefined as long as the agent has emitted nothing. */
  #unread: Unread[] | undefined;
  /** Lets the emitter of the event that was read last continue. */
  #taken: (() => void) | undefined;
  /** The reader, while it waits. */
  #resolve: ((result: Result) => void) | undefined;
  #reject: (error: unknown) => void = ignore;
  #take: Take | undefined;
  /** True while the agent's next event is awaited. */
  #isAsked = false;
  #isOver = false;
  readonly #source: LateEvents;
  readonly #turn: TurnRequest;

  /** @param source gets the events that the turn emits after its end, to report that they are dropped */
  constructor(source: LateEvents, turn: TurnRequest) {
    this.#source = source;
    this.#turn = turn;
  }

  /** Sets the iterator of the agent, before the first event is read. */
  set agent(agent: AsyncIterator<AgentEvent>) {
    this.#agent = agent;
  }

  /** See `Turn.emit`. */
  emit(event: AgentEvent): Promise<void> {
    if (this.#isOver) {
      this.#source.late(this.#turn, event);
      return Promise.resolve();
    }
    return new Promise((taken) => {
      const give = (): void => {
        this.#taken = taken;
        this.#answer({ done: false, value: event });
      };
      this.#add({ give, taken });
    });
  }

  /** @param take is called with the events that the agent yields while the reader waits */
  next(take?: Take): Promise<Result> {
    if (this.#taken !== undefined) this.#release();
    this.#take = take;
    return new Promise(this.#read);
  }

  readonly #read = (resolve: (result: Result) => void, reject: (error: unknown) => void): void => {
    this.#resolve = resolve;
    this.#reject = reject;
    const unread = this.#unread?.shift();
    if (unread !== undefined) unread.give();
    else if (!this.#isAsked) this.#ask();
  };

  /**
   * Reads on after the last event of the turn. Reads the agent itself, which costs less, if no event was ever queued:
   * events that the agent emits from then on are late.
   */
  rest(): Promise<Result> {
    if (this.#unread !== undefined || this.#isAsked) return this.next();
    this.#end();
    return this.#nextOfAgent();
  }

  #nextOfAgent(): Promise<Result> {
    return this.#agent?.next() as Promise<Result>;
  }

  /** Asks the agent for its next event. No async function: it would take another promise for each event. */
  #ask(): void {
    this.#isAsked = true;
    try {
      // An agent without a type checker may return anything.
      void Promise.resolve(this.#nextOfAgent()).then(this.#yielded, this.#threw);
    } catch (error) {
      this.#threw(error);
    }
  }

  /** Offers an event of the agent to `take`, and asks for the next one until the reader gets one. */
  readonly #yielded = (result: Result): void => {
    try {
      const take = this.#resolve === undefined ? undefined : this.#take;
      const left = take === undefined ? result : take(result);
      // The reader has an event that was emitted meanwhile, if it does not wait.
      if (take !== undefined && left === undefined && this.#resolve !== undefined) return this.#ask();
      this.#isAsked = false;
      if (take === undefined || left !== undefined) this.#deliver(left as Result);
    } catch (error) {
      this.#threw(error);
    }
  };

  readonly #threw = (error: unknown): void => {
    this.#isAsked = false;
    this.#fail(error);
  };

  /** Ends the events, and the agent at its last `yield`. Unread events are dropped. */
  async return(): Promise<Result> {
    this.#end();
    await this.#agent?.return?.();
    return { done: true, value: undefined };
  }

  /** Gives a result to the waiting reader, or keeps it for the next one. */
  #deliver(result: Result): void {
    if (this.#resolve !== undefined) this.#give(result);
    else this.#keep(result);
  }

  #keep(result: Result): void {
    this.#add({ give: () => this.#give(result) });
  }

  #give(result: Result): void {
    if (isDone(result)) this.#end();
    this.#answer(result);
  }

  /** Gives the agent's error to the reader, in the same way. */
  #fail(error: unknown): void {
    const give = (): void => {
      this.#end();
      this.#resolve = undefined;
      this.#reject(error);
    };
    this.#add({ give });
  }

  /** Gives an event to the reader if it waits, otherwise later. */
  #add(unread: Unread): void {
    if (this.#resolve !== undefined) return unread.give();
    this.#unread ??= [];
    this.#unread.push(unread);
  }

  #answer(result: Result): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(result);
  }

  /** Lets the emitter of the event that was read last continue. */
  #release(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  #end(): void {
    this.#isOver = true;
    this.#release();
    for (const { taken } of this.#unread?.splice(0) ?? []) taken?.();
  }
}

/** An agent without a type checker may return anything, even a value whose properties throw. */
function isDone(result: Result): boolean {
  try {
    return result.done === true;
  } catch {
    return false;
  }
}
