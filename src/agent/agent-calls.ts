import { isPromiseLike } from "../core/async.js";
import { TracedIterator } from "../telemetry/tracer.js";
import type { Agent, Turn } from "./agent.js";
import type { AgentEvents } from "./agent-events.js";
import type { AgentEvent } from "./event.js";
import { beginAgent } from "./turn.js";

/**
 * Calls of an agent's functions. Untyped authors may return anything, and an unhandled rejection would end the process.
 */

/**
 * Calls `execute`. An agent that throws at once is treated as one that throws at its first event. A promise of an
 * iterable, as of an `async execute()` without `*`, is accepted like the iterable.
 */
export function startAgent(agent: Agent, turn: Turn): AgentEvents {
  const { events, span } = beginAgent(turn, agent);
  const agents = span === undefined ? executed(agent, turn) : span.run(() => executed(agent, turn));
  events.agent = span === undefined ? agents : new TracedIterator(span, agents);
  return events;
}

function executed(agent: Agent, turn: Turn): AsyncIterator<AgentEvent> {
  try {
    const events: unknown = agent.execute(turn);
    return isPromiseLike(events) ? new DeferredIterator(events) : iteratorOf(events);
  } catch (error) {
    return { next: () => Promise.reject(error) };
  }
}

/** Returns the agent's decision about an interrupted turn: "fail", unless it clearly chooses a restart. */
export function recoveryOf(agent: Agent, turn: Turn): "fail" | "restart" {
  const { recover } = agent;
  try {
    const decision: unknown = typeof recover === "function" ? recover(turn) : recover;
    if (isPromiseLike(decision)) decision.then(undefined, () => {});
    return decision === "restart" ? "restart" : "fail";
  } catch {
    // Retrying would never end.
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

/** The iterator of a promised iterable. */
class DeferredIterator implements AsyncIterator<AgentEvent> {
  readonly #iterator: Promise<AsyncIterator<AgentEvent>>;

  constructor(events: PromiseLike<unknown>) {
    this.#iterator = Promise.resolve(events).then(iteratorOf);
    // A rejection is reported by `next`, which may never be called.
    this.#iterator.catch(() => {});
  }

  async next(): Promise<IteratorResult<AgentEvent>> {
    return (await this.#iterator).next();
  }

  async return(): Promise<IteratorResult<AgentEvent>> {
    // Without an iterator, `next` has thrown the reason.
    const iterator = await this.#iterator.catch(() => undefined);
    await iterator?.return?.();
    return { done: true, value: undefined };
  }
}
