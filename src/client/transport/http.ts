import type { DescMessage, DescMethod, DescMethodStreaming, DescMethodUnary, Message } from "@bufbuild/protobuf";
import {
  type ContextValues,
  createContextValues,
  type StreamRequest,
  type StreamResponse,
  type Transport,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import { runStreamingCall, runUnaryCall } from "@connectrpc/connect/protocol";
import { A2AError } from "../../core/error.js";
import { markGeneration } from "../../wire/generation.js";
import { parseSse } from "../../wire/sse.js";
import { badAnswer, errorOfAnswer, isSuccess } from "../answer-errors.js";
import { clientError, connectErrorOf } from "../errors.js";
import type { HttpAnswer, HttpClient, TransportSettings } from "../platform.js";

/** A request as it goes over the wire. */
export interface Written {
  readonly url: string;
  readonly body: string | undefined;
  /** What the answer has to repeat; 0 where nothing is repeated. */
  readonly id: number;
}

/** How one method is spoken in JSON over HTTP. */
export interface HttpMethod {
  /** In upper case. */
  readonly verb: string;
  readonly hasBody: boolean;
  /** @param url that of the interface, with what interceptors have added to its query. */
  write(request: Message, url: string): Written;
  /** The answer to a call. @throws A2AError for one that is an error, and for one that is not what was asked for. */
  read(text: string, written: Written, answer: HttpAnswer): Message;
  /** The same of one event of a stream. */
  readEvent(data: string, written: Written, answer: HttpAnswer): Message;
  /** Another way to ask the same, where a server does not know this one. */
  readonly otherwise?: HttpMethod;
}

/** The methods of a binding by the names that the contract has for them. */
export type HttpMethods = (method: DescMethod) => HttpMethod | undefined;

/**
 * The transport of a binding that is JSON over HTTP, with streams as server-sent events. What it throws are ConnectErrors, each with
 * the A2AError as its `cause`. A stream is read as fast as its consumer asks; the id of an event is noted as its generation.
 */
export function httpTransport(settings: TransportSettings, http: HttpClient, methods: HttpMethods): Transport {
  return new HttpTransport(settings, http, methods);
}

/** Whatever Headers can be made of, in the runtime at hand. */
type GivenHeaders = ConstructorParameters<typeof Headers>[0];

class HttpTransport implements Transport {
  readonly #settings: TransportSettings;
  readonly #http: HttpClient;
  readonly #methods: HttpMethods;

  constructor(settings: TransportSettings, http: HttpClient, methods: HttpMethods) {
    this.#settings = settings;
    this.#http = http;
    this.#methods = methods;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: GivenHeaders,
    message: UnaryRequest<I, O>["message"] | object,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    const spoken = this.#spoken(method);
    return await runUnaryCall<I, O>({
      interceptors: [...this.#settings.interceptors],
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutMs === undefined || timeoutMs <= 0 ? {} : { timeoutMs }),
      req: {
        stream: false,
        service: method.parent,
        method,
        requestMethod: spoken.verb,
        url: this.#settings.url,
        header: headersOf(header, spoken, "application/json"),
        contextValues: contextValues ?? createContextValues(),
        message: message as never,
      },
      next: async (request) => {
        try {
          return (await this.#ask(spoken, request)) as UnaryResponse<I, O>;
        } catch (error) {
          throw connectErrorOf(clientError(error));
        }
      },
    });
  }

  async #ask(spoken: HttpMethod, request: UnaryRequest): Promise<UnaryResponse> {
    const written = spoken.write(request.message, request.url);
    const answer = await this.#send(spoken.verb, written, request);
    // An endless answer to a question that has one.
    if (answer.contentType.startsWith("text/event-stream")) {
      answer.cancel();
      throw errorOfAnswer("", answer);
    }
    const text = await answer.text(this.#settings.maxAnswerBytes);
    return new Answered(request, answer, spoken.read(text, written, answer));
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: GivenHeaders,
    input: AsyncIterable<unknown>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    const spoken = this.#spoken(method);
    return await runStreamingCall<I, O>({
      interceptors: [...this.#settings.interceptors],
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutMs === undefined || timeoutMs <= 0 ? {} : { timeoutMs }),
      req: {
        stream: true,
        service: method.parent,
        method,
        requestMethod: spoken.verb,
        url: this.#settings.url,
        header: headersOf(header, spoken, "text/event-stream, application/json"),
        contextValues: contextValues ?? createContextValues(),
        message: input as never,
      },
      next: async (request) => {
        try {
          return (await this.#open(spoken, request)) as StreamResponse<I, O>;
        } catch (error) {
          throw connectErrorOf(clientError(error));
        }
      },
    });
  }

  async #open(spoken: HttpMethod, request: StreamRequest): Promise<StreamResponse> {
    const message = await onlyOne(request.message);
    const written = spoken.write(message, request.url);
    const answer = await this.#send(spoken.verb, written, request);
    if (!isSuccess(answer.status) || !answer.contentType.toLowerCase().startsWith("text/event-stream")) {
      const error = await this.#refusal(spoken, written, answer);
      if (spoken.otherwise === undefined || !isUnknownWay(error)) throw error;
      return await this.#open(spoken.otherwise, { ...request, message: once(message) });
    }
    const { service, method } = request;
    const messages = events(spoken, written, answer, this.#settings.maxAnswerBytes);
    return { stream: true, service, method, header: answer.headers, trailer: new Headers(), message: messages };
  }

  /** The error in an answer that is no stream. */
  async #refusal(spoken: HttpMethod, written: Written, answer: HttpAnswer): Promise<A2AError> {
    const text = await answer.text(this.#settings.maxAnswerBytes);
    try {
      spoken.read(text, written, answer);
    } catch (error) {
      return clientError(error);
    }
    return errorOfAnswer(text, answer);
  }

  async #send(
    verb: string,
    { url, body }: Written,
    { header, signal }: UnaryRequest | StreamRequest,
  ): Promise<HttpAnswer> {
    return await this.#http({ url, method: verb, headers: header, ...(body === undefined ? {} : { body }), signal });
  }

  #spoken(method: DescMethod): HttpMethod {
    const spoken = this.#methods(method);
    if (spoken !== undefined) return spoken;
    throw connectErrorOf(new A2AError("METHOD_NOT_FOUND", `This binding has no form for ${method.toString()}.`));
  }
}

/** An answer whose headers are made when somebody looks at them. */
class Answered implements UnaryResponse {
  readonly stream = false;
  readonly service: UnaryResponse["service"];
  readonly method: UnaryResponse["method"];
  readonly message: Message;
  readonly #answer: HttpAnswer;
  #trailer: Headers | undefined;

  constructor({ service, method }: UnaryRequest, answer: HttpAnswer, message: Message) {
    this.service = service;
    this.method = method;
    this.message = message;
    this.#answer = answer;
  }

  get header(): Headers {
    return this.#answer.headers;
  }

  get trailer(): Headers {
    this.#trailer ??= new Headers();
    return this.#trailer;
  }
}

function headersOf(given: GivenHeaders, spoken: HttpMethod, accept: string): Headers {
  const headers = new Headers(given);
  headers.set("Accept", accept);
  // What servers of every release take: some know no other type.
  if (spoken.hasBody) headers.set("Content-Type", "application/json");
  return headers;
}

/** A server that knows the resource by another verb, or does not know the path at all. */
function isUnknownWay({ reason }: A2AError): boolean {
  return reason === "METHOD_NOT_ALLOWED" || reason === "METHOD_NOT_FOUND";
}

async function onlyOne(messages: AsyncIterable<Message>): Promise<Message> {
  for await (const message of messages) return message;
  throw new A2AError("INVALID_REQUEST", "The call has no request.");
}

async function* once(message: Message): AsyncGenerator<Message> {
  yield message;
}

async function* events(spoken: HttpMethod, written: Written, answer: HttpAnswer, max: number): AsyncGenerator<Message> {
  try {
    for await (const { data, id } of parseSse(answer.chunks(), max)) {
      // One that came in one piece was not measured before.
      if (data.length > max) throw badAnswer(`An event of the stream exceeds ${max} characters.`);
      const message = spoken.readEvent(data, written, answer);
      yield /^\d{1,15}$/.test(id) ? markGeneration(message, Number(id)) : message;
    }
  } catch (error) {
    throw connectErrorOf(clientError(error));
  }
}
