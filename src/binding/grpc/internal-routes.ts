import type { DescMethod, Message } from "@bufbuild/protobuf";
import { ConnectError, type ConnectRouter, type HandlerContext, type MethodImpl } from "@connectrpc/connect";
import { boundedCall } from "../../core/async.js";
import { type InternalMethod, MAX_QUESTION_BYTES, StatusError } from "./internal-service.js";
import type { InternalServices } from "./internal-services.js";

/**
 * Registers health and reflection with a ConnectRouter, so that gRPC, gRPC-Web and Connect serve them next to a
 * service. They share their state with those of the gRPC port.
 */
export function infrastructureRoutes(all: InternalServices): (router: ConnectRouter) => void {
  return (router) => {
    for (const { service, methods } of all.services) {
      for (const desc of service.methods) {
        const method = methods[desc.name];
        if (method === undefined) continue;
        // The type of a descriptor known only at run time does not tell the kind of its implementation.
        const handler = handlerOf(method, all) as unknown as MethodImpl<DescMethod>;
        router.rpc(desc, handler, { readMaxBytes: MAX_QUESTION_BYTES });
      }
    }
  };
}

function handlerOf(method: InternalMethod, all: InternalServices): (...call: never[]) => unknown {
  switch (method.kind) {
    case "unary":
      return (request: Message) => {
        try {
          return method.answer(request);
        } catch (error) {
          throw error instanceof StatusError ? new ConnectError(error.message, error.code) : error;
        }
      };
    case "server_streaming":
      return (request: Message, { signal }: HandlerContext) =>
        watchedChanges((notify) => method.watch(request, notify), new OpenStream(all, signal));
    case "bidi_streaming":
      return (requests: AsyncIterable<Message>, { signal }: HandlerContext) =>
        answerEach(requests, (request) => method.answer(request), new OpenStream(all, signal));
  }
}

/** Yields the watched changes until the stream ends. */
async function* watchedChanges(
  watch: (notify: (answer: Message) => void) => () => void,
  stream: OpenStream,
): AsyncGenerator<Message> {
  const pending: Message[] = [];
  const stop = watch((answer) => {
    pending.push(answer);
    stream.wake();
  });
  try {
    for (;;) {
      for (const answer of pending.splice(0)) yield answer;
      if (stream.isOver) return;
      if (pending.length === 0) await stream.changed();
    }
  } finally {
    stop();
    stream.close();
  }
}

/** Yields an answer to each request, and reads the next request after the answer was sent. */
async function* answerEach(
  requests: AsyncIterable<Message>,
  answer: (request: Message) => Message | Promise<Message>,
  stream: OpenStream,
): AsyncGenerator<Message> {
  const iterator = requests[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await stream.orOver(iterator.next());
      if (next === undefined || next.done === true) return;
      yield await answer(next.value);
    }
  } finally {
    stream.close();
  }
}

/** A stream that ends with its client or with the server. */
class OpenStream {
  isOver = false;
  #wake: () => void = () => {};
  readonly #close: () => void;

  constructor(all: InternalServices, signal: AbortSignal) {
    const over = (): void => {
      this.isOver = true;
      this.#wake();
    };
    this.#close = all.opened(over);
    signal.addEventListener("abort", over, { once: true });
  }

  close(): void {
    this.#close();
    this.isOver = true;
    this.#wake();
  }

  wake(): void {
    this.#wake();
  }

  /** Resolves at the next wake-up. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Waits for work of a stream that is woken only at its end. Undefined if the stream ends first. */
  orOver<T>(work: Promise<T>): Promise<T | undefined> {
    return boundedCall<T | undefined>((resolve, reject) => {
      work.then(resolve, reject);
      this.#wake = () => resolve(undefined);
      if (this.isOver) this.#wake();
      return () => {};
    });
  }
}
