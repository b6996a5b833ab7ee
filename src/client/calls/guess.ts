import type { Transport } from "@connectrpc/connect";
import { withFirst } from "../../core/async.js";
import type { Reason } from "../../core/error.js";
import { clientError, isCut } from "../errors/errors.js";
import { isSend, requestMessages } from "./routes.js";

/** What servers say that do not know the name of a method: nothing was done. Early ones took such a request for none at all. */
const unknownMethod: ReadonlySet<Reason> = new Set(["METHOD_NOT_FOUND", "INVALID_REQUEST"]);

const isUnknownMethod = (thrown: unknown): boolean => unknownMethod.has(clientError(thrown).reason);

/**
 * The transport of an interface that is of one of two versions, which is not known. Sends have another name in each: one that the
 * server does not know is made once by the other, and what it answers to decides for all calls after it.
 *
 * @param turned is called when the other one is the right one
 */
export function guessingTransport(first: Transport, other: Transport, turned: () => void): Transport {
  let known: Transport | undefined;
  const turn = (): void => {
    known = other;
    turned();
  };
  /** By the one, and where its name is unknown by the other. */
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
      const messages: (typeof input extends AsyncIterable<infer M> ? M : never)[] = [];
      for await (const message of input) messages.push(message);
      return either(async (transport) => {
        const asked = requestMessages(messages);
        const response = await transport.stream(method, signal, timeoutMs, header, asked, contextValues);
        return { ...response, message: await begun(response.message) };
      });
    },
  };
}

/** A stream whose first message has come. @throws what it threw instead */
async function begun<M>(messages: AsyncIterable<M>): Promise<AsyncIterable<M>> {
  const inner = messages[Symbol.asyncIterator]();
  return withFirst(await inner.next(), inner);
}
