import type { Transport } from "@connectrpc/connect";
import type { Reason } from "../../core/error.js";
import { prepend } from "../../core/map-stream.js";
import { clientError, isCut } from "../errors/errors.js";
import { gathered, isSend, requestMessages } from "./failover.js";

/**
 * Errors of servers that do not know a method: the request had no effect. Early servers rejected it as an invalid
 * request.
 */
const unknownMethod: ReadonlySet<Reason> = new Set(["METHOD_NOT_FOUND", "INVALID_REQUEST"]);

const isUnknownMethod = (thrown: unknown): boolean => unknownMethod.has(clientError(thrown).reason);

/**
 * Returns the transport of an interface whose version is one of two. The send methods have different names in the two
 * versions: an unknown one is retried with the other version, and the result decides the version of all later calls.
 *
 * @param turned called if the other version is the right one
 */
export function guessingTransport(first: Transport, other: Transport, turned: () => void): Transport {
  let known: Transport | undefined;
  const turn = (): void => {
    known = other;
    turned();
  };
  /** Calls the first transport and, if it does not know the method, the other. */
  const either = async <A>(call: (transport: Transport) => Promise<A>): Promise<A> => {
    try {
      const answer = await call(first);
      known = first;
      return answer;
    } catch (thrown) {
      if (!isUnknownMethod(thrown)) throw thrown;
      try {
        const answer = await call(other);
        turn();
        return answer;
      } catch (second) {
        if (isUnknownMethod(second)) throw thrown;
        if (!isCut(clientError(second))) turn();
        throw second;
      }
    }
  };
  return {
    unary: (method, ...call) => {
      if (known !== undefined || !isSend(method)) return (known ?? first).unary(method, ...call);
      return either((transport) => transport.unary(method, ...call));
    },
    stream: async (method, signal, timeoutMs, header, input, contextValues) => {
      if (known !== undefined || !isSend(method)) {
        return (known ?? first).stream(method, signal, timeoutMs, header, input, contextValues);
      }
      const messages = await gathered(input);
      return either(async (transport) => {
        const asked = requestMessages(messages);
        const response = await transport.stream(method, signal, timeoutMs, header, asked, contextValues);
        return { ...response, message: await begun(response.message) };
      });
    },
  };
}

/** Waits for a stream's first message and returns the stream. @throws the stream's first error */
async function begun<M>(messages: AsyncIterable<M>): Promise<AsyncIterable<M>> {
  const inner = messages[Symbol.asyncIterator]();
  return prepend(await inner.next(), inner);
}
