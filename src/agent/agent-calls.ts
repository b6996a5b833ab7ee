import { isPromiseLike } from "../core/async.js";
import type { Agent, Turn } from "./agent.js";
import type { AgentEvent } from "./event.js";

/** What is called of an agent. Authors without a type checker return anything; a promise without a listener ends a process. */

/**
 * Calls `execute`; an agent that throws at once looks like one that throws at its first event. A promise of an iterable,
 * as of an `async execute()` without `*`, is as good as the iterable.
 */
export function startAgent(agent: Agent, turn: Turn): AsyncIterator<AgentEvent> {
  try {
    const events: unknown = agent.execute(turn);
    return isPromiseLike(events) ? new LateIterator(events) : iteratorOf(events);
  } catch (error) {
    return { next: () => Promise.reject(error) };
  }
}

/** What the agent says about a turn that was cut off; an agent that does not say clearly that it goes on does not. */
export function recoveryOf(agent: Agent, turn: Turn): "fail" | "restart" {
  const { recover } = agent;
  try {
    const said: unknown = typeof recover === "function" ? recover(turn) : recover;
    if (isPromiseLike(said)) said.then(undefined, () => {});
    return said === "restart" ? "restart" : "fail";
  } catch {
    // Asking again would go on for ever.
    return "fail";
  }
}

function iteratorOf(events: unknown): AsyncIterator<AgentEvent> {
  const make = (events as Partial<AsyncIterable<AgentEvent>> | null | undefined)?.[Symbol.asyncIterator];
  if (typeof make !== "function") {
    throw new TypeError("execute() has to return an async iterable: write it as `async *execute(turn)`");
  }
  return make.call(events as AsyncIterable<AgentEvent>);
}

/** The iterator of an iterable that is promised. */
class LateIterator implements AsyncIterator<AgentEvent> {
  readonly #iterator: Promise<AsyncIterator<AgentEvent>>;

  constructor(events: PromiseLike<unknown>) {
    this.#iterator = Promise.resolve(events).then(iteratorOf);
    // A rejection goes to the caller that asks for an event; there may be none.
    this.#iterator.catch(() => {});
  }

  async next(): Promise<IteratorResult<AgentEvent>> {
    return (await this.#iterator).next();
  }

  async return(): Promise<IteratorResult<AgentEvent>> {
    // Where there is no iterator, `next` has thrown the reason.
    const iterator = await this.#iterator.catch(() => undefined);
    await iterator?.return?.();
    return { done: true, value: undefined };
  }
}
