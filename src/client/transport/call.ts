import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import {
  ConnectError,
  type ContextValues,
  createContextValues,
  type Interceptor,
  type StreamRequest,
  type StreamResponse,
  type Transport,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import { A2AError } from "../../core/error.js";
import { clientError, connectErrorOf } from "../errors.js";
import type { HttpAnswer } from "../platform.js";
import { Life } from "./life.js";

/** How one method goes over a wire. */
export interface Spoken {
  /** In upper case. */
  readonly verb: string;
  /** What interceptors see; what they make of it is called. */
  readonly url: string;
  /** Sets the headers that the wire asks for. @param timeoutMs undefined: there is no deadline */
  prepare(headers: Headers, timeoutMs: number | undefined): void;
  /** One answer. @throws A2AError, and what the platform throws */
  ask(request: UnaryRequest): Promise<UnaryResponse>;
  /** A stream of them: each is read when it is asked for, and `return` ends it. */
  open(request: StreamRequest, message: Message): Promise<StreamResponse>;
}

/** The methods of a binding; undefined for one that it has no form for. May throw an A2AError that says so. */
export type SpokenMethods = (method: DescMethod) => Spoken | undefined;

/** Whatever Headers can be made of, in the runtime at hand. */
type GivenHeaders = ConstructorParameters<typeof Headers>[0];

/**
 * A transport of Connect: interceptors, deadlines, headers, cancellation. What it throws are ConnectErrors, each with the A2AError as
 * its `cause`. Interceptors are put together once, not for each call.
 */
export class CallTransport implements Transport {
  readonly #methods: SpokenMethods;
  readonly #next: ReturnType<Interceptor>;

  /** @param interceptors the outermost first */
  constructor(interceptors: readonly Interceptor[], methods: SpokenMethods) {
    this.#methods = methods;
    let next: ReturnType<Interceptor> = (request) => this.#send(request);
    for (const interceptor of interceptors.toReversed()) next = interceptor(next);
    this.#next = next;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: GivenHeaders,
    message: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    const spoken = this.#spoken(method);
    const life = new Life(signal, timeoutMs);
    try {
      const response = await this.#next({
        stream: false,
        service: method.parent,
        method,
        requestMethod: spoken.verb,
        url: spoken.url,
        header: headersOf(header, spoken, timeoutMs),
        contextValues: contextValues ?? createContextValues(),
        signal: life.signal,
        message: create(method.input, message),
      });
      // An interceptor answers a call as it was asked.
      return response as UnaryResponse<I, O>;
    } catch (error) {
      throw life.errorOf(error);
    } finally {
      life.end();
    }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: GivenHeaders,
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    const spoken = this.#spoken(method);
    const life = new Life(signal, timeoutMs);
    try {
      const response = await this.#next({
        stream: true,
        service: method.parent,
        method,
        requestMethod: spoken.verb,
        url: spoken.url,
        header: headersOf(header, spoken, timeoutMs),
        contextValues: contextValues ?? createContextValues(),
        signal: life.signal,
        message: created(method.input, input),
      });
      return {
        ...(response as StreamResponse<I, O>),
        message: life.during((response as StreamResponse<I, O>).message),
      };
    } catch (error) {
      life.end();
      throw life.errorOf(error);
    }
  }

  async #send(request: UnaryRequest | StreamRequest): Promise<UnaryResponse | StreamResponse> {
    const spoken = this.#spoken(request.method);
    try {
      if (!request.stream) return await spoken.ask(request);
      return await spoken.open(request, await onlyOne(request.message));
    } catch (error) {
      throw connectErrorFor(error);
    }
  }

  #spoken(method: DescMethod): Spoken {
    let spoken: Spoken | undefined;
    try {
      spoken = this.#methods(method);
    } catch (error) {
      throw connectErrorFor(error);
    }
    if (spoken !== undefined) return spoken;
    throw connectErrorOf(new A2AError("METHOD_NOT_FOUND", `This binding has no form for ${method.toString()}.`));
  }
}

/** Anything thrown as those who call through Connect know it. */
export function connectErrorFor(error: unknown): ConnectError {
  return error instanceof ConnectError ? error : connectErrorOf(clientError(error));
}

function headersOf(given: GivenHeaders, spoken: Spoken, timeoutMs: number | undefined): Headers {
  const headers = new Headers(given);
  spoken.prepare(headers, timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : undefined);
  return headers;
}

async function* created<I extends DescMessage>(
  desc: I,
  input: AsyncIterable<MessageInitShape<I>>,
): AsyncGenerator<Message> {
  for await (const message of input) yield create(desc, message);
}

/** A stream is asked for with one message. */
async function onlyOne(messages: AsyncIterable<Message>): Promise<Message> {
  for await (const message of messages) return message;
  throw new A2AError("INVALID_REQUEST", "The call has no request.");
}

/** An answer whose headers are made when somebody looks at them. */
export class Answered implements UnaryResponse {
  readonly stream = false;
  readonly service: UnaryResponse["service"];
  readonly method: UnaryResponse["method"];
  readonly message: Message;
  readonly #from: Pick<HttpAnswer, "headers" | "trailers">;
  #trailer: Headers | undefined;

  constructor(
    { service, method }: UnaryRequest,
    from: Pick<HttpAnswer, "headers" | "trailers">,
    message: Message,
    trailer?: Headers,
  ) {
    this.service = service;
    this.method = method;
    this.message = message;
    this.#from = from;
    this.#trailer = trailer;
  }

  get header(): Headers {
    return this.#from.headers;
  }

  get trailer(): Headers {
    this.#trailer ??= this.#from.trailers ?? new Headers();
    return this.#trailer;
  }
}
