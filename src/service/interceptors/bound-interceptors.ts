import { background, ignore } from "../../core/async.js";
import type { Call } from "../../core/call.js";
import { A2AError } from "../../core/error.js";
import type { InvocationResult, ServiceInterceptor } from "../invoke.js";
import { dropAnswer } from "../outgoing-budget.js";

/**
 * Timeout of all the author's interceptors together, before they pass a call on and again after its return, in
 * milliseconds.
 */
export const interceptors = { timeoutMs: 30_000 } as const;

/** Progress of one call through the author's interceptors. */
interface Watch {
  /** True while the call is in the rest of the chain, which has its own limits. */
  isInside: boolean;
  /** True once the interceptors have answered or failed, or have been given up. */
  isOver: boolean;
  /** The error of a call that was given up, which is not passed on any more. */
  failure: A2AError | undefined;
  /** Called when the rest of the chain has returned. */
  returned: () => void;
}

/**
 * Bounds the time that the author's interceptors take before they pass a call on and after it returned, and ends a call
 * whose client has left meanwhile. `outer` runs before them in the chain, `inner` right after them.
 */
export function boundInterceptors(): { readonly outer: ServiceInterceptor; readonly inner: ServiceInterceptor } {
  const watches = new WeakMap<Call, Watch>();
  return {
    outer: (next) => (invocation) => {
      const watch: Watch = { isInside: false, isOver: false, failure: undefined, returned: ignore };
      watches.set(invocation.call, watch);
      return watched(next(invocation), watch, invocation.call);
    },
    inner: (next) => async (invocation) => {
      const watch = watches.get(invocation.call);
      if (watch === undefined) return next(invocation);
      if (watch.failure !== undefined) throw watch.failure;
      // A call has room for one large answer, and one time limit.
      if (watch.isInside) throw new Error("an interceptor called next() again before it had an answer or an error");
      watch.isInside = true;
      try {
        return await next(invocation);
      } finally {
        watch.isInside = false;
        // An answer that the interceptors did not wait for is not written.
        if (watch.isOver) dropAnswer(invocation.call);
        else watch.returned();
      }
    },
  };
}

/** Not `bounded`: the timeout does not apply while the rest of the chain runs, and restarts after it. */
function watched(work: Promise<InvocationResult>, watch: Watch, { cancellation }: Call): Promise<InvocationResult> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let forget = ignore;
    const end = (): void => {
      watch.isOver = true;
      clearTimeout(timer);
      forget();
    };
    const fail = (error: A2AError): void => {
      watch.failure = error;
      end();
      reject(error);
    };
    const onDisconnect = (): void => {
      if (!watch.isInside) fail(new A2AError("CANCELLED", "The client went away."));
    };
    const onTimeout = (): void => {
      if (watch.isInside) return;
      fail(new A2AError("UNAVAILABLE", "The call could not be processed in time.", { retryAfterMs: 1_000 }));
    };
    const begin = (): void => {
      clearTimeout(timer);
      timer = background(setTimeout(onTimeout, interceptors.timeoutMs));
      // The client may have left while the call was in the rest of the chain.
      if (cancellation.canceled) onDisconnect();
    };
    watch.returned = begin;
    forget = cancellation.onCancel(onDisconnect);
    if (!watch.isInside) begin();
    work.then(
      (answer) => {
        end();
        resolve(answer);
      },
      (error) => {
        end();
        reject(error);
      },
    );
  });
}
