import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { A2AError } from "../../core/error.js";
import type { OlderMessages } from "../../version/older-calls.js";
import { envelopeWriter } from "../../wire/binary-writer.js";
import { COMPRESSED, type Envelope, Envelopes } from "../../wire/envelopes.js";
import { badAnswer, errorOfHead, isSuccess } from "../errors/answer-errors.js";
import type { HttpAnswer, HttpClient, MessageSettings } from "../platform.js";
import { appendPath } from "./append-path.js";
import { Answered, binaryAnswerReader, CallTransport, type WireCall, type WireMethod } from "./call.js";
import type { RequestHeaders } from "./request-headers.js";

/** Differences between protocols that send messages in envelopes. */
export interface FramedProtocol {
  /** Media type of requests, and prefix of that of answers. */
  readonly contentType: string;
  prepare(headers: RequestHeaders, timeoutMs: number | undefined): void;
  /** Checks the headers of an answer. @throws A2AError if they are an error */
  checkHead(answer: HttpAnswer): void;
  /** True if an envelope is the end of the answer. */
  isEnd(frame: Envelope): boolean;
  /**
   * Reads the end of an answer.
   *
   * @param end its envelope; undefined if the body ended without one
   * @returns the trailers; undefined for those of the answer
   * @throws A2AError for an error, and UNAVAILABLE if the answer was cut off
   */
  ended(end: Envelope | undefined, answer: HttpAnswer): Headers | undefined;
}

/** Creates the transport of such a protocol, in binary. */
export function framedTransport(settings: MessageSettings, http: HttpClient, protocol: FramedProtocol): Transport {
  return new CallTransport(settings, (desc) => {
    if (desc.methodKind === "client_streaming" || desc.methodKind === "bidi_streaming") return undefined;
    const older = settings.methods?.(desc);
    if (settings.methods !== undefined && older === undefined) return undefined;
    return new FramedMethod(desc, settings, http, protocol, older);
  });
}

/** Returns the URL of a method. */
export function methodUrl(url: string, { parent, name }: DescMethod): string {
  return appendPath(url, `/${parent.typeName}/${name}`);
}

/** One method of the protocol. Protocols with another unary form use it for streams. */
export class FramedMethod implements WireMethod {
  readonly verb = "POST";
  readonly url: string;
  readonly #write: (message: Message) => Uint8Array;
  readonly #readAnswer: (bytes: Uint8Array) => Message;
  readonly #settings: MessageSettings;
  readonly #http: HttpClient;
  readonly #protocol: FramedProtocol;
  readonly #answerType: string;
  readonly #older: OlderMessages | undefined;

  /** @param older the method in the older version of the agent */
  constructor(
    desc: DescMethod,
    settings: MessageSettings,
    http: HttpClient,
    protocol: FramedProtocol,
    older?: OlderMessages,
  ) {
    const called = older?.method ?? desc;
    this.url = methodUrl(settings.url, called);
    this.#readAnswer = binaryAnswerReader(called.output, settings.maxAnswerValues);
    const write = envelopeWriter(called.input);
    this.#write = older === undefined ? write : (message) => write(older.down(message));
    this.#older = older;
    this.#settings = settings;
    this.#http = http;
    this.#protocol = protocol;
    this.#answerType = protocol.contentType.replace(/\+proto$/, "");
  }

  prepare(headers: RequestHeaders, timeoutMs: number | undefined): void {
    headers.set("content-type", this.#protocol.contentType);
    this.#protocol.prepare(headers, timeoutMs);
  }

  /** Returns the only message of an answer. Reads it to the end, so that the connection can be reused. */
  async ask(asked: WireCall, message: Message): Promise<UnaryResponse> {
    const answer = await this.#send(asked, message);
    if (!this.#isOurs(answer)) throw await notOurs(answer);
    this.#checkHead(answer);
    const envelopes = envelopesOf(this.#settings);
    let received: Message | undefined;
    let end: Envelope | undefined;
    await answer.read((chunk) => {
      envelopes.push(chunk);
      for (let frame = envelopes.take(); frame !== undefined; frame = envelopes.take()) {
        if (end !== undefined) throw badAnswer("There is something behind the end of the answer.");
        if (this.#protocol.isEnd(frame)) end = checkedEnd(frame);
        else if (received === undefined) received = this.#inService(this.#read(frame), message);
        else throw badAnswer("There is more than one message in the answer.");
      }
    });
    if (envelopes.isInside) throw cutOff();
    const trailer = this.#protocol.ended(end, answer);
    if (received === undefined) throw badAnswer("The answer has no message.");
    return new Answered(asked, answer, received, trailer);
  }

  async open(asked: WireCall, message: Message): Promise<StreamResponse> {
    const answer = await this.#send(asked, message);
    if (!this.#isOurs(answer)) throw await notOurs(answer);
    this.#checkHead(answer);
    const { service } = asked;
    const method = asked.method as StreamResponse["method"];
    const trailer = new Headers();
    return { stream: true, service, method, header: answer.headers, trailer, message: this.#messages(answer, trailer) };
  }

  async *#messages(answer: HttpAnswer, trailer: Headers): AsyncGenerator<Message> {
    let end: Envelope | undefined;
    for await (const frame of framesOf(answer, this.#settings)) {
      if (end !== undefined) throw badAnswer("There is something behind the end of the stream.");
      if (this.#protocol.isEnd(frame)) end = checkedEnd(frame);
      else {
        const event = this.#read(frame);
        yield this.#inService(event);
        if (this.#older?.isLast(event) === true) return await untilEnd(answer);
      }
    }
    const pairs = this.#protocol.ended(end, answer) ?? answer.trailers ?? [];
    for (const [name, value] of pairs) trailer.set(name, value);
  }

  #read({ flags, data }: Envelope): Message {
    if ((flags & COMPRESSED) !== 0) throw badAnswer("The answer is compressed, which was not asked for.");
    return this.#readAnswer(data);
  }

  #inService(message: Message, request?: Message): Message {
    return this.#older === undefined ? message : this.#older.up(message, request);
  }

  #send({ url, header, signal }: WireCall, message: Message): Promise<HttpAnswer> {
    // The bytes are never in memory shared with other threads.
    const body = this.#write(message) as Uint8Array<ArrayBuffer>;
    return this.#http({ url, method: "POST", headers: header, body, signal });
  }

  #isOurs({ status, contentType }: HttpAnswer): boolean {
    return isSuccess(status) && contentType.toLowerCase().startsWith(this.#answerType);
  }

  #checkHead(answer: HttpAnswer): void {
    try {
      this.#protocol.checkHead(answer);
    } catch (error) {
      answer.cancel();
      throw error;
    }
  }
}

/** Maximum size of trailers and errors, in bytes: a few lines that each become a header. */
const MAX_END = 256 * 1024;

function checkedEnd(frame: Envelope): Envelope {
  if (frame.data.byteLength <= MAX_END) return frame;
  throw badAnswer(`The end of the answer has more than ${MAX_END} bytes.`);
}

/** Maximum size read of an answer outside the protocol, for its error, in bytes. */
const MAX_FOREIGN = 64 * 1024;

async function notOurs(answer: HttpAnswer): Promise<A2AError> {
  const text = await answer.text(MAX_FOREIGN).catch(() => "");
  answer.cancel();
  return errorOfHead(answer, text);
}

/** Time for a server to end a stream after its last event, in milliseconds. */
const END_MS = 1_000;

/**
 * Waits for the end of a stream after its last event. Servers built on Vert.x end the connection, with all of its
 * calls, if they end a stream that is being canceled.
 */
async function untilEnd(answer: HttpAnswer): Promise<void> {
  const timer = setTimeout(() => answer.cancel(), END_MS);
  try {
    await answer.read(() => {});
  } catch {
    // Nothing after the last event matters.
  } finally {
    clearTimeout(timer);
  }
}

async function* framesOf(answer: HttpAnswer, settings: MessageSettings): AsyncGenerator<Envelope> {
  const envelopes = envelopesOf(settings);
  for await (const chunk of answer.chunks()) {
    envelopes.push(chunk);
    for (let frame = envelopes.take(); frame !== undefined; frame = envelopes.take()) yield frame;
  }
  if (envelopes.isInside) throw cutOff();
}

function envelopesOf({ maxAnswerBytes: max }: MessageSettings): Envelopes {
  return new Envelopes((_flags, size) => {
    if (size > max) throw badAnswer(`A message of the answer has ${size} bytes, more than ${max}.`);
  });
}

/** Returns the error for an incomplete answer. */
export function cutOff(): A2AError {
  return new A2AError("UNAVAILABLE", "The connection was closed before the answer was complete.");
}
