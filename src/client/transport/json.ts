import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import type { A2AError, Reason } from "../../core/error.js";
import type { OlderExchange } from "../../version/older-calls.js";
import { mark } from "../../wire/marks.js";
import { hasMediaType } from "../../wire/media-type.js";
import { parseSse } from "../../wire/sse.js";
import { badAnswer, errorOfAnswer, errorOfHead, isSuccess } from "../errors/answer-errors.js";
import { clientError } from "../errors/errors.js";
import type { HttpAnswer, HttpClient, TransportSettings } from "../platform.js";
import { Answered, CallTransport, checkJson, type WireCall, type WireMethod } from "./call.js";
import type { RequestHeaders } from "./request-headers.js";

/** A request as it goes over the wire. */
export interface Written {
  readonly url: string;
  readonly body: string | undefined;
  /** Request id that the answer repeats; 0 for none. */
  readonly id: number;
  /** Reads the answers of an older version. */
  readonly exchange?: OlderExchange;
}

/** One method in JSON over HTTP. */
export interface JsonMethod {
  /** In upper case. */
  readonly verb: string;
  readonly hasBody: boolean;
  /** @param url that of the interface, with query parameters added by interceptors */
  write(request: Message, url: string): Written;
  /** Reads the answer to a call, or one event of a stream. @throws A2AError for an error or an unexpected answer */
  read(text: string, written: Written, answer: HttpAnswer): Message;
  /** Alternative form, for servers that do not know this one. */
  readonly otherwise?: JsonMethod;
}

/** Returns the method of a binding by its contract name. */
export type JsonMethods = (method: DescMethod) => JsonMethod | undefined;

/** Accepted by servers of every release; some early ones know no other type. */
const JSON_TYPE = "application/json";

/**
 * Creates the transport of a binding in JSON over HTTP, with streams as server-sent events. A stream is read at the
 * pace of its consumer; the id of an event is noted as its generation.
 *
 * @param ownType media type of the binding's JSON besides `application/json`
 */
export function jsonTransport(
  settings: TransportSettings,
  http: HttpClient,
  methods: JsonMethods,
  ownType?: string,
): Transport {
  const types = new BodyTypes(ownType);
  return new CallTransport(settings, (desc) => {
    const method = methods(desc);
    return method === undefined ? undefined : new JsonWireMethod({ desc, method, settings, http, types });
  });
}

/** Reasons of a rejected media type. */
const refusedType: ReadonlySet<Reason> = new Set(["MEDIA_TYPE_NOT_SUPPORTED", "CONTENT_TYPE_NOT_SUPPORTED"]);

/** Selects the media type of request bodies: the binding's own once the server is known to accept it. */
class BodyTypes {
  #current: string = JSON_TYPE;
  readonly #own: string | undefined;
  /** The type that the server accepted last. */
  #taken = "";
  /** True after the server rejected one of the two. */
  #isSettled = false;

  constructor(own: string | undefined) {
    this.#own = own;
  }

  /** Type of the next request. */
  get current(): string {
    return this.#current;
  }

  /** Types accepted in answers. */
  get accepted(): string {
    return this.#own === undefined ? JSON_TYPE : `${this.#own}, ${JSON_TYPE}`;
  }

  /** A server accepts the type that it answers in. @param hasBody true if the accepted request had a body */
  answered(contentType: string, hasBody: boolean): void {
    if (hasBody) this.#taken = this.#current;
    if (this.#own === undefined || this.#isSettled || this.#current === this.#own) return;
    if (hasMediaType(contentType, this.#own)) this.#current = this.#own;
  }

  /**
   * Returns the type to try after a rejected one, or undefined if the error has another cause. The rejected request had
   * no effect.
   */
  after(error: unknown, sent: string | null | undefined): string | undefined {
    if (this.#own === undefined || sent === this.#taken) return undefined;
    if (!refusedType.has(clientError(error).reason)) return undefined;
    if (sent === this.#own) return JSON_TYPE;
    return sent === JSON_TYPE ? this.#own : undefined;
  }

  /** Notes that the server accepted a type after it rejected the other one. */
  settle(type: string): void {
    this.#current = this.#taken = type;
    this.#isSettled = true;
  }
}

/** Parts of a JSON method. */
interface JsonMethodParts {
  readonly desc: DescMethod;
  readonly method: JsonMethod;
  readonly settings: TransportSettings;
  readonly http: HttpClient;
  readonly types: BodyTypes;
}

class JsonWireMethod implements WireMethod {
  readonly verb: string;
  readonly url: string;
  readonly #accept: string;
  readonly #method: JsonMethod;
  readonly #maxBytes: number;
  readonly #maxValues: number;
  readonly #http: HttpClient;
  readonly #types: BodyTypes;

  constructor({ desc, method, settings, http, types }: JsonMethodParts) {
    this.verb = method.verb;
    this.url = settings.url;
    this.#accept = desc.methodKind === "unary" ? types.accepted : `text/event-stream, ${types.accepted}`;
    this.#method = method;
    this.#maxBytes = settings.maxAnswerBytes;
    this.#maxValues = settings.maxAnswerValues;
    this.#http = http;
    this.#types = types;
  }

  prepare(headers: RequestHeaders): void {
    headers.set("accept", this.#accept);
    if (this.#method.hasBody) headers.set("content-type", this.#types.current);
  }

  async ask(asked: WireCall, message: Message): Promise<UnaryResponse> {
    try {
      return await this.#ask(asked, message);
    } catch (error) {
      const { otherwise } = this.#method;
      if (otherwise !== undefined && clientError(error).reason === "INVALID_PARAMS")
        return this.#ask(asked, message, otherwise).catch(() => Promise.reject(error));
      const type = this.#method.hasBody ? this.#types.after(error, asked.header.get("content-type")) : undefined;
      if (type === undefined) throw error;
      asked.header.set("content-type", type);
      const response = await this.#ask(asked, message);
      this.#types.settle(type);
      return response;
    }
  }

  async #ask(asked: WireCall, message: Message, method: JsonMethod = this.#method): Promise<UnaryResponse> {
    const written = method.write(message, asked.url);
    const answer = await this.#send(method.verb, written, asked);
    // An endless answer to a unary call.
    if (isEventStream(answer)) {
      answer.cancel();
      throw errorOfHead(answer, "…");
    }
    const text = await this.#readText(answer);
    const read = method.read(text, written, answer);
    this.#types.answered(answer.contentType, written.body !== undefined);
    return new Answered(asked, answer, read);
  }

  async open(asked: WireCall, message: Message): Promise<StreamResponse> {
    let other: string | undefined;
    for (let method: JsonMethod = this.#method; ; ) {
      if (method.hasBody) asked.header.set("content-type", other ?? this.#types.current);
      const written = method.write(message, asked.url);
      const answer = await this.#send(method.verb, written, asked);
      if (isSuccess(answer.status) && (isEventStream(answer) || answer.contentType === "")) {
        if (other !== undefined) this.#types.settle(other);
        return this.#opened(asked, method, written, answer);
      }
      const error = await this.#refusal(method, written, answer);
      const type = method.hasBody && other === undefined ? this.#types.after(error, this.#types.current) : undefined;
      if (type !== undefined) other = type;
      else if (method.otherwise !== undefined && isUnknownWay(error)) method = method.otherwise;
      else throw error;
    }
  }

  #opened(asked: WireCall, json: JsonMethod, written: Written, answer: HttpAnswer): StreamResponse {
    const { service } = asked;
    const method = asked.method as StreamResponse["method"];
    const message = this.#events(json, written, answer);
    return { stream: true, service, method, header: answer.headers, trailer: new Headers(), message };
  }

  async *#events(method: JsonMethod, written: Written, answer: HttpAnswer): AsyncGenerator<Message> {
    const max = this.#maxBytes;
    let isStreamed = isEventStream(answer);
    for await (const { data, id, event } of parseSse(answer.chunks(), max)) {
      isStreamed = true;
      if (event !== undefined && heartbeat.test(event)) continue;
      // An event that arrived in one chunk was not measured before.
      if (data.length > max) throw badAnswer(`An event of the stream exceeds ${max} characters.`);
      checkJson(data, this.#maxValues);
      const message = method.read(data, written, answer);
      // Not right after "yield", where the parser of Cloudflare's tools takes a pattern for a division.
      const isNumbered = /^\d{1,15}$/.test(id);
      yield isNumbered ? mark(message, { generation: Number(id) }) : message;
      if (written.exchange?.isOver === true) return;
    }
    // Another answer without a content type.
    if (!isStreamed) throw errorOfHead(answer, "…");
  }

  async #readText(answer: HttpAnswer): Promise<string> {
    const text = await answer.text(this.#maxBytes);
    checkJson(text, this.#maxValues);
    return text;
  }

  /** Returns the error in an answer that is not a stream. */
  async #refusal(method: JsonMethod, written: Written, answer: HttpAnswer): Promise<A2AError> {
    const text = await this.#readText(answer);
    try {
      method.read(text, written, answer);
    } catch (error) {
      return clientError(error);
    }
    return errorOfAnswer(text, answer);
  }

  #send(method: string, { url, body }: Written, asked: WireCall): Promise<HttpAnswer> {
    const { header: headers, signal } = asked;
    return this.#http(body === undefined ? { url, method, headers, signal } : { url, method, headers, body, signal });
  }
}

/** Heartbeat events, for which other servers use comments; their data is arbitrary. */
const heartbeat = /^(?:ping|heartbeat|keep-?alive)$/i;

function isEventStream({ contentType }: HttpAnswer): boolean {
  return hasMediaType(contentType, "text/event-stream");
}

/** True for servers that use another verb, do not know the path, or take its end for part of the id. */
function isUnknownWay({ reason }: A2AError): boolean {
  return reason === "METHOD_NOT_ALLOWED" || reason === "METHOD_NOT_FOUND" || reason === "TASK_NOT_FOUND";
}
