import type { DescMessage, DescMethod, DescMethodUnary, Message, MessageShape } from "@bufbuild/protobuf";
import type { AgentRegistration } from "../card/agents.js";
import type { Call } from "../core/call.js";

/** One request with its method and context. */
export interface Invocation {
  readonly method: DescMethod;
  readonly request: Message;
  readonly call: Call;
  /** The agent that the request is for. The tenant interceptor sets it, for all interceptors after it. */
  readonly served?: AgentRegistration;
}

/** Result of a method: one message, or a stream of them for server-streaming methods. */
export type InvocationResult = Message | AsyncIterable<Message>;

/**
 * A function that runs once around every call of every binding. It may refuse the call with an A2AError, pass on
 * another request, watch the answer or replace it, and pass it on again after an answer or an error. `call` has the
 * caller (`call.caller`), the address (`call.peer`) and the headers of the request, and takes headers of the response. An
 * interceptor that waits for nothing returns the promise as it is and refuses by throwing synchronously; the outermost
 * interceptor catches both.
 */
export type ServiceInterceptor = (next: Invoke) => Invoke;

/**
 * The function through which every binding calls the service. A binding passes the rpc's descriptor, the decoded
 * request and the call, and gets the answer or an A2AError. The iterable of a streaming method may throw an A2AError at
 * any message.
 */
export type Invoke = (invocation: Invocation) => Promise<InvocationResult>;

/** One function per method of a service, by its local name. Those of streaming methods return an iterable. */
export type MethodTable<Methods extends Readonly<Record<string, DescMethod>>, Context> = {
  readonly [K in keyof Methods]: (
    request: MessageShape<Methods[K]["input"]>,
    context: Context,
  ) => Methods[K] extends DescMethodUnary
    ? Promise<MessageShape<Methods[K]["output"]>>
    : AsyncIterable<MessageShape<Methods[K]["output"]>>;
};

/** Puts interceptors around a method, the first one outermost. */
export function chain(interceptors: readonly ServiceInterceptor[], last: Invoke): Invoke {
  return interceptors.reduceRight((next, interceptor) => interceptor(next), last);
}

/**
 * Reports whether a call is of one method, such as `A2AService.method.sendMessage`. Its request then has that method's
 * type, and so has its answer, which is an iterable for a streaming method.
 */
export function isCallOf<I extends DescMessage, M extends DescMethod & { readonly input: I }>(
  invocation: Invocation,
  method: M,
): invocation is Invocation & { readonly method: M; readonly request: MessageShape<M["input"]> } {
  return invocation.method === method;
}

/** Reports whether an answer is a stream. */
export function isStream(answer: InvocationResult): answer is AsyncIterable<Message> {
  return Symbol.asyncIterator in answer;
}
