import type { DescMessage, DescMethod, Message, MessageShape } from "@bufbuild/protobuf";
import type { AgentRegistration } from "../card/agents.js";
import type { Call } from "../core/call.js";

/** One request on its way to a method. */
export interface Invocation {
  readonly method: DescMethod;
  readonly request: Message;
  readonly call: Call;
  /** The agent that the request is for: set by the tenant interceptor, there for all that come after it. */
  readonly served?: AgentRegistration;
}

/** What a method answers: a message, or, when the descriptor says server streaming, messages. */
export type Answer = Message | AsyncIterable<Message>;

/** The rest of the chain. */
export type Next = (invocation: Invocation) => Promise<Answer>;

/**
 * Runs around every call of every binding, once; may refuse it with an A2AError, hand on another request, watch the answer
 * or replace it. `call` tells who calls (`call.caller`), from where (`call.peer`), with which headers, and takes headers
 * of the response. One that has to wait for nothing passes the promise on as it is, and refuses by throwing at once:
 * the interceptor around all of them catches both.
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

/**
 * Whether a call is one of a method, such as `A2AService.method.sendMessage`: its request then has that method's type,
 * and so has its answer, which for a streaming method is an iterable of it.
 */
export function isCallOf<I extends DescMessage, M extends DescMethod & { readonly input: I }>(
  invocation: Invocation,
  method: M,
): invocation is Invocation & { readonly method: M; readonly request: MessageShape<M["input"]> } {
  return invocation.method === method;
}

/** Whether an answer is a stream. */
export function isStream(answer: Answer): answer is AsyncIterable<Message> {
  return Symbol.asyncIterator in answer;
}
