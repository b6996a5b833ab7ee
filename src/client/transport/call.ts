import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  type ContextValues,
  createContextValues,
  type Interceptor,
  type StreamRequest,
  type StreamResponse,
  type Transport,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import { utf8Of } from "../../core/bytes.js";
import { A2AError } from "../../core/error.js";
import { mapStream } from "../../core/map-stream.js";
import { binaryReader } from "../../wire/binary-reader.js";
import { exceedsBinary, excessOfJson } from "../../wire/count-values.js";
import { CallScope } from "../calls/call-scope.js";
import type { CallParameters } from "../calls/parameters.js";
import type { StopSignal } from "../calls/stop-signal.js";
import { badAnswer } from "../errors/answer-errors.js";
import type { HttpAnswer, TransportSettings } from "../platform.js";
import { type GivenHeaders, headerMap, type RequestHeaders } from "./request-headers.js";

/** A call on a wire: a Connect request, or the needed part of one if no interceptor sees it. */
export interface WireCall {
  readonly service: DescService;
  readonly method: DescMethod;
  readonly url: string;
  readonly header: RequestHeaders;
  readonly signal: StopSignal;
}

/** Wire form of one method. */
export interface WireMethod {
  /** In upper case. */
  readonly verb: string;
  /** URL that interceptors see; the one they return is called. */
  readonly url: string;
  /** Sets the headers of the wire. @param timeoutMs undefined for no deadline */
  prepare(headers: RequestHeaders, timeoutMs: number | undefined): void;
  /** Makes a call with one answer. @throws A2AError, and errors of the platform */
  ask(asked: WireCall, message: Message): Promise<UnaryResponse>;
  /** Opens a stream: each message is read on request, and `return` ends it. */
  open(asked: WireCall, message: Message): Promise<StreamResponse>;
}

/** Creates a method of a binding; undefined for one without a form in it. May throw an A2AError that says so. */
type WireMethods = (method: DescMethod) => WireMethod | undefined;

/**
 * A Connect transport: parameters, interceptors, deadlines, headers, cancellation. It throws A2AErrors. Interceptors
 * are composed once rather than per call; without any, no request object is created.
 */
export class CallTransport implements Transport {
  readonly #methods: WireMethods;
  readonly #wires = new Map<DescMethod, WireMethod>();
  readonly #parameters: CallParameters | undefined;
  readonly #intercepted: ReturnType<Interceptor> | undefined;

  constructor({ parameters, interceptors }: TransportSettings, methods: WireMethods) {
    this.#methods = methods;
    this.#parameters = parameters;
    if (interceptors.length === 0) return;
    let next: ReturnType<Interceptor> = (request) => this.#send(request);
    for (const interceptor of interceptors.toReversed()) next = interceptor(next);
    this.#intercepted = next;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: GivenHeaders,
    input: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    const wire = this.#wireMethod(method);
    const scope = new CallScope(signal, timeoutMs);
    try {
      const asked = this.#asked(method, wire, { scope, header, timeoutMs });
      const message = this.#message(method.input, input);
      const response =
        this.#intercepted === undefined
          ? await wire.ask(asked, message)
          : await this.#intercepted({
              ...requestBase(asked, wire, scope, contextValues),
              stream: false,
              method,
              message,
            });
      // An interceptor returns the kind of response that was requested.
      return response as UnaryResponse<I, O>;
    } catch (error) {
      throw scope.errorOf(error);
    } finally {
      scope.end();
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
    const wire = this.#wireMethod(method);
    const scope = new CallScope(signal, timeoutMs);
    try {
      const asked = this.#asked(method, wire, { scope, header, timeoutMs });
      const response =
        this.#intercepted === undefined
          ? await wire.open(asked, this.#message(method.input, await onlyOne(input)))
          : await this.#intercepted({
              ...requestBase(asked, wire, scope, contextValues),
              stream: true,
              method,
              message: mapStream(input, { item: (init) => this.#message(method.input, init) }),
            });
      return {
        ...(response as StreamResponse<I, O>),
        message: scope.during((response as StreamResponse<I, O>).message),
      };
    } catch (error) {
      scope.end();
      throw scope.errorOf(error);
    }
  }

  #asked(method: DescMethod, wire: WireMethod, { scope, header: given, timeoutMs }: Given): WireCall {
    const header = headerMap(given);
    wire.prepare(header, timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : undefined);
    this.#parameters?.addTo(header);
    return { service: method.parent, method, url: wire.url, header, signal: scope };
  }

  #message<I extends DescMessage>(desc: I, init: MessageInitShape<I>): MessageShape<I> {
    const message = create(desc, init);
    return this.#parameters?.withTenant(desc, message) ?? message;
  }

  async #send(request: UnaryRequest | StreamRequest): Promise<UnaryResponse | StreamResponse> {
    const wire = this.#wireMethod(request.method);
    if (!request.stream) return wire.ask(request, request.message);
    return wire.open(request, await onlyOne(request.message));
  }

  #wireMethod(method: DescMethod): WireMethod {
    const known = this.#wires.get(method);
    if (known !== undefined) return known;
    const wire = this.#methods(method);
    if (wire === undefined)
      throw new A2AError("METHOD_NOT_FOUND", `This binding has no form for ${method.toString()}.`);
    this.#wires.set(method, wire);
    return wire;
  }
}

/** A caller's arguments of a call. */
interface Given {
  readonly scope: CallScope;
  readonly header: GivenHeaders;
  readonly timeoutMs: number | undefined;
}

/** Returns the common part of both kinds of request for interceptors. */
function requestBase(
  { service, url, header }: WireCall,
  { verb }: WireMethod,
  scope: CallScope,
  values: ContextValues | undefined,
) {
  return {
    service,
    requestMethod: verb,
    url,
    header: new Headers([...header]),
    contextValues: values ?? createContextValues(),
    signal: scope.signal,
  };
}

/** Returns the single message of a stream's request. */
async function onlyOne<M>(messages: AsyncIterable<M>): Promise<M> {
  for await (const message of messages) return message;
  throw new A2AError("INVALID_REQUEST", "The call has no request.");
}

/** An answer whose headers are created on first access. */
export class Answered implements UnaryResponse {
  readonly stream = false;
  readonly service: UnaryResponse["service"];
  readonly method: UnaryResponse["method"];
  readonly message: Message;
  readonly #from: Pick<HttpAnswer, "headers" | "trailers">;
  #trailer: Headers | undefined;

  constructor(
    { service, method }: WireCall,
    from: Pick<HttpAnswer, "headers" | "trailers">,
    message: Message,
    trailer?: Headers,
  ) {
    this.service = service;
    // Only unary methods are answered by an `Answered`.
    this.method = method as UnaryResponse["method"];
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

/** Texts of fewer characters are not counted: they cannot hold too many values. */
const HARMLESS = 64 * 1024;

/**
 * Checks a JSON answer before it is parsed: an empty value takes more than a hundred times its bytes in memory.
 * @throws A2AError INVALID_AGENT_RESPONSE
 */
export function checkJson(text: string, max: number): void {
  const excess = text.length < HARMLESS ? undefined : excessOfJson(utf8Of(text), max);
  if (excess !== undefined) throw excess === "values" ? tooMany(max) : badAnswer("The answer nests too deep.");
}

/**
 * Returns the reader of a type's binary answers. The reader throws A2AError INVALID_AGENT_RESPONSE for more than `max`
 * values and for invalid bytes.
 */
export function binaryAnswerReader(desc: DescMessage, max: number): (bytes: Uint8Array) => Message {
  const read = binaryReader(desc);
  return (bytes) => {
    let isTooMuch: boolean;
    try {
      isTooMuch = exceedsBinary(desc, bytes, max);
      if (!isTooMuch) return read(bytes);
    } catch (cause) {
      throw new A2AError("INVALID_AGENT_RESPONSE", `The answer is not a ${desc.typeName}.`, { cause });
    }
    throw tooMany(max);
  };
}

function tooMany(max: number): A2AError {
  return badAnswer(`The answer has more than ${max} values (maxAnswerValues).`);
}
