import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { ServedAgent } from "../card/agents.js";
import type { Call } from "../core/call.js";

/** One request on its way to a method. */
export interface Invocation {
  readonly method: DescMethod;
  readonly request: Message;
  readonly call: Call;
  /** The agent that the request is for: set by the tenant interceptor, there for all that come after it. */
  readonly served?: ServedAgent;
}

/** What a method answers: a message, or, when the descriptor says server streaming, messages. */
export type Answer = Message | AsyncIterable<Message>;

/** The rest of the chain. */
export type Next = (invocation: Invocation) => Promise<Answer>;

/**
 * Runs around every call of every binding, once; may refuse it, change the call, or watch the answer. One that has to
 * wait for nothing passes the promise on as it is, and refuses by throwing at once: the guard around it catches both.
 */
export type Interceptor = (next: Next) => Next;

/**
 * The only way into the service. A binding hands over the rpc's descriptor, the decoded request and the call, and
 * gets the answer or an A2AError. The iterable of a streaming method may throw an A2AError at any message.
 */
export type Invoke = Next;

/** Puts interceptors around a method: the first one is the outermost. */
export function chain(interceptors: readonly Interceptor[], last: Next): Invoke {
  return interceptors.reduceRight((next, interceptor) => interceptor(next), last);
}

/** Whether an answer is a stream. */
export function isStream(answer: Answer): answer is AsyncIterable<Message> {
  return Symbol.asyncIterator in answer;
}
