import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import type { A2AError } from "../../core/error.js";
import type { OlderExchange } from "../../version/callable.js";
import { markGeneration } from "../../wire/generation.js";
import { parseSse } from "../../wire/sse.js";
import { badAnswer, errorOfAnswer, errorOfHead, isSuccess } from "../answer-errors.js";
import { clientError } from "../errors.js";
import type { HttpAnswer, HttpClient, TransportSettings } from "../platform.js";
import { checkJson } from "./answer-values.js";
import { Answered, type Asked, CallTransport, connectErrorFor, type Spoken } from "./call.js";
import type { RequestHeaders } from "./request-headers.js";

/** A request as it goes over the wire. */
export interface Written {
  readonly url: string;
  readonly body: string | undefined;
  /** What the answer has to repeat; 0 where nothing is repeated. */
  readonly id: number;
  /** Of an older version: what knows how to read its answers. */
  readonly exchange?: OlderExchange;
}

/** How one method is said in JSON over HTTP. */
export interface JsonMethod {
  /** In upper case. */
  readonly verb: string;
  readonly hasBody: boolean;
  /** @param url that of the interface, with what interceptors have added to its query. */
  write(request: Message, url: string): Written;
  /** The answer to a call, or one event of a stream. @throws A2AError for an error, and for what is not what was asked for. */
  read(text: string, written: Written, answer: HttpAnswer): Message;
  /** Another way to ask the same, where a server does not know this one. */
  readonly otherwise?: JsonMethod;
}

/** The methods of a binding by the names that the contract has for them. */
export type JsonMethods = (method: DescMethod) => JsonMethod | undefined;

/**
 * The transport of a binding that is JSON over HTTP, with streams as server-sent events. A stream is read as fast as its consumer
 * asks; the id of an event is noted as its generation.
 */
export function jsonTransport(settings: TransportSettings, http: HttpClient, methods: JsonMethods): Transport {
  const spoken = new Map<string, Spoken | undefined>();
  return new CallTransport(settings, (desc) => {
    const known = spoken.get(desc.name);
    if (known !== undefined) return known;
    const method = methods(desc);
    if (method === undefined) return undefined;
    const made = new SpokenJson(desc, method, settings, http);
    spoken.set(desc.name, made);
    return made;
  });
}

class SpokenJson implements Spoken {
  readonly verb: string;
  readonly url: string;
  readonly #accept: string;
  readonly #method: JsonMethod;
  readonly #maxBytes: number;
  readonly #maxValues: number;
  readonly #http: HttpClient;

  constructor(desc: DescMethod, method: JsonMethod, settings: TransportSettings, http: HttpClient) {
    this.verb = method.verb;
    this.url = settings.url;
    this.#accept = desc.methodKind === "unary" ? "application/json" : "text/event-stream, application/json";
    this.#method = method;
    this.#maxBytes = settings.maxAnswerBytes;
    this.#maxValues = settings.maxAnswerValues;
    this.#http = http;
  }

  prepare(headers: RequestHeaders): void {
    headers.set("accept", this.#accept);
    // What servers of every release take: some know no other type.
    if (this.#method.hasBody) headers.set("content-type", "application/json");
  }

  async ask(asked: Asked, message: Message): Promise<UnaryResponse> {
    const written = this.#method.write(message, asked.url);
    const answer = await this.#send(this.verb, written, asked);
    // An endless answer to a question that has one.
    if (isStream(answer)) {
      answer.cancel();
      throw errorOfHead(answer, "…");
    }
    const text = await this.#textOf(answer);
    return new Answered(asked, answer, this.#method.read(text, written, answer));
  }

  async open(asked: Asked, message: Message): Promise<StreamResponse> {
    for (let method: JsonMethod | undefined = this.#method; ; method = method.otherwise) {
      if (method.hasBody) asked.header.set("content-type", "application/json");
      const written = method.write(message, asked.url);
      const answer = await this.#send(method.verb, written, asked);
      if (isSuccess(answer.status) && isStream(answer)) return this.#opened(asked, method, written, answer);
      const error = await this.#refusal(method, written, answer);
      if (method.otherwise === undefined || !isUnknownWay(error)) throw error;
    }
  }

  #opened(asked: Asked, spoken: JsonMethod, written: Written, answer: HttpAnswer): StreamResponse {
    const { service } = asked;
    const method = asked.method as StreamResponse["method"];
    const message = this.#events(spoken, written, answer);
    return { stream: true, service, method, header: answer.headers, trailer: new Headers(), message };
  }

  async *#events(method: JsonMethod, written: Written, answer: HttpAnswer): AsyncGenerator<Message> {
    const max = this.#maxBytes;
    try {
      for await (const { data, id } of parseSse(answer.chunks(), max)) {
        // One that came in one piece was not measured before.
        if (data.length > max) throw badAnswer(`An event of the stream exceeds ${max} characters.`);
        checkJson(data, this.#maxValues);
        const message = method.read(data, written, answer);
        yield /^\d{1,15}$/.test(id) ? markGeneration(message, Number(id)) : message;
        if (written.exchange?.isOver === true) return;
      }
    } catch (error) {
      throw connectErrorFor(error);
    }
  }

  async #textOf(answer: HttpAnswer): Promise<string> {
    const text = await answer.text(this.#maxBytes);
    checkJson(text, this.#maxValues);
    return text;
  }

  /** The error in an answer that is no stream. */
  async #refusal(method: JsonMethod, written: Written, answer: HttpAnswer): Promise<A2AError> {
    const text = await this.#textOf(answer);
    try {
      method.read(text, written, answer);
    } catch (error) {
      return clientError(error);
    }
    return errorOfAnswer(text, answer);
  }

  #send(method: string, { url, body }: Written, asked: Asked): Promise<HttpAnswer> {
    const { header: headers, signal } = asked;
    return this.#http(body === undefined ? { url, method, headers, signal } : { url, method, headers, body, signal });
  }
}

function isStream({ contentType }: HttpAnswer): boolean {
  return contentType.length >= 17 && /^text\/event-stream\b/i.test(contentType);
}

/** A server that knows the resource by another verb, does not know the path at all, or takes its end for a part of the id. */
function isUnknownWay({ reason }: A2AError): boolean {
  return reason === "METHOD_NOT_ALLOWED" || reason === "METHOD_NOT_FOUND" || reason === "TASK_NOT_FOUND";
}
