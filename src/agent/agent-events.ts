import type { AgentEvent } from "./event.js";

type Result = IteratorResult<AgentEvent>;

/** A reader that waits for an event. */
interface Reader {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** An event, or the error of the agent, that nothing has read. */
interface Unread {
  readonly give: (reader: Reader) => void;
  /** Of an emitted event: called when the reader wants the next one. */
  readonly taken?: () => void;
}

/**
 * The events of a turn in their order: those that its agent yields and those that it emits. `next` must not be called
 * again before it has settled.
 */
export class AgentEvents implements AsyncIterator<AgentEvent> {
  #agent: AsyncIterator<AgentEvent> | undefined;
  readonly #unread: Unread[] = [];
  /** Lets the emitter of the event that was read last continue. */
  #taken: (() => void) | undefined;
  #reader: Reader | undefined;
  /** True while the agent's next event is awaited. */
  #isAsked = false;
  #isOver = false;
  readonly #late: (event: unknown) => void;

  /** @param late called with events that are emitted after the end, which are dropped */
  constructor(late: (event: unknown) => void) {
    this.#late = late;
  }

  /** Sets the iterator of the agent, before the first event is read. */
  set agent(agent: AsyncIterator<AgentEvent>) {
    this.#agent = agent;
  }

  /** See `Turn.emit`. */
  emit(event: AgentEvent): Promise<void> {
    if (this.#isOver) {
      this.#late(event);
      return Promise.resolve();
    }
    return new Promise((taken) => {
      const give = (reader: Reader): void => {
        this.#taken = taken;
        reader.resolve({ done: false, value: event });
      };
      const reader = this.#reader;
      this.#reader = undefined;
      if (reader === undefined) this.#unread.push({ give, taken });
      else give(reader);
    });
  }

  next(): Promise<Result> {
    this.#release();
    return new Promise((resolve, reject) => {
      const unread = this.#unread.shift();
      if (unread !== undefined) return unread.give({ resolve, reject });
      this.#reader = { resolve, reject };
      if (!this.#isAsked) this.#ask();
    });
  }

  /** Ends the events, and the agent where it has yielded last. What was not read is dropped. */
  async return(): Promise<Result> {
    this.#end();
    await this.#agent?.return?.();
    return { done: true, value: undefined };
  }

  #ask(): void {
    this.#isAsked = true;
    // Untyped iterators may return results instead of promises.
    Promise.resolve(this.#agent?.next() as Promise<Result>).then(this.#yielded, this.#threw);
  }

  readonly #yielded = (result: Result): void => {
    this.#isAsked = false;
    const reader = this.#reader;
    if (reader !== undefined) this.#give(reader, result);
    else this.#unread.push({ give: (later) => this.#give(later, result) });
  };

  #give(reader: Reader, result: Result): void {
    this.#reader = undefined;
    if (isDone(result)) this.#end();
    reader.resolve(result);
  }

  readonly #threw = (error: unknown): void => {
    this.#isAsked = false;
    const give = (reader: Reader): void => {
      this.#reader = undefined;
      this.#end();
      reader.reject(error);
    };
    if (this.#reader !== undefined) give(this.#reader);
    else this.#unread.push({ give });
  };

  /** Lets the emitter of the event that was read last continue. */
  #release(): void {
    const taken = this.#taken;
    if (taken === undefined) return;
    this.#taken = undefined;
    taken();
  }

  #end(): void {
    this.#isOver = true;
    this.#release();
    for (const { taken } of this.#unread.splice(0)) taken?.();
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
