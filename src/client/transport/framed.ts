import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { Gathered } from "../../core/bytes.js";
import { A2AError } from "../../core/error.js";
import type { OlderMessages } from "../../version/client-versions.js";
import { envelopeWriter } from "../../wire/binary-writer.js";
import { badAnswer, errorOfHead, isSuccess } from "../errors/answer-errors.js";
import type { HttpAnswer, HttpClient, MessageSettings } from "../platform.js";
import { Answered, type Asked, CallTransport, connectErrorFor, readBinary, type Spoken } from "./call.js";
import type { RequestHeaders } from "./request-headers.js";

/** Differences between protocols that send messages in envelopes. */
export interface FramedProtocol {
  /** Media type of requests, and prefix of that of answers. */
  readonly contentType: string;
  prepare(headers: RequestHeaders, timeoutMs: number | undefined): void;
  /** Checks the headers of an answer. @throws A2AError if they are an error */
  checkHead(answer: HttpAnswer): void;
  /** True if an envelope is the end of the answer. */
  isEnd(frame: Frame): boolean;
  /**
   * Reads the end of an answer.
   *
   * @param end its envelope; undefined if the body ended without one
   * @returns the trailers; undefined for those of the answer
   * @throws A2AError for an error, and UNAVAILABLE if the answer was cut off
   */
  ended(end: Frame | undefined, answer: HttpAnswer): Headers | undefined;
}

/** Creates the transport of such a protocol, in binary. */
export function framedTransport(settings: MessageSettings, http: HttpClient, protocol: FramedProtocol): Transport {
  const spoken = new Map<string, Spoken>();
  return new CallTransport(settings, (desc) => {
    const path = pathOf(desc);
    let method = spoken.get(path);
    if (method === undefined && desc.methodKind !== "client_streaming" && desc.methodKind !== "bidi_streaming") {
      const older = settings.methods?.(desc);
      if (settings.methods !== undefined && older === undefined) return undefined;
      method = new FramedMethod(desc, settings, http, protocol, older);
      spoken.set(path, method);
    }
    return method;
  });
}

/** Returns the path of a method, below the server's URL. */
function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

/** Returns the URL of a method: its path follows the interface's path, before its query. */
export function methodUrl(url: string, method: DescMethod): string {
  const mark = url.indexOf("?");
  const base = mark < 0 ? url : url.slice(0, mark);
  return `${base.replace(/\/+$/, "")}${pathOf(method)}${mark < 0 ? "" : url.slice(mark)}`;
}

/** One method of the protocol. Protocols with another unary form use it for streams. */
export class FramedMethod implements Spoken {
  readonly verb = "POST";
  readonly url: string;
  readonly #desc: DescMethod;
  readonly #write: (message: Message) => Uint8Array;
  readonly #settings: MessageSettings;
  readonly #http: HttpClient;
  readonly #protocol: FramedProtocol;
  readonly #answerType: string;
  readonly #older: OlderMessages | undefined;

  /** @param older the method in the older version that is spoken */
  constructor(
    desc: DescMethod,
    settings: MessageSettings,
    http: HttpClient,
    protocol: FramedProtocol,
    older?: OlderMessages,
  ) {
    const spoken = older?.method ?? desc;
    this.url = methodUrl(settings.url, spoken);
    this.#desc = spoken;
    const write = envelopeWriter(spoken.input);
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
  async ask(asked: Asked, message: Message): Promise<UnaryResponse> {
    const answer = await this.#send(asked, message);
    if (!this.#isOurs(answer)) throw await notOurs(answer);
    this.#checkHead(answer);
    const frames = new Frames(this.#settings.maxAnswerBytes);
    let received: Message | undefined;
    let end: Frame | undefined;
    await answer.read((chunk) => {
      frames.push(chunk);
      for (let frame = frames.take(); frame !== undefined; frame = frames.take()) {
        if (end !== undefined) throw badAnswer("There is something behind the end of the answer.");
        if (this.#protocol.isEnd(frame)) end = endOf(frame);
        else if (received === undefined) received = this.#inService(this.#read(frame), message);
        else throw badAnswer("There is more than one message in the answer.");
      }
    });
    if (frames.isCut) throw cutOff();
    const trailer = this.#protocol.ended(end, answer);
    if (received === undefined) throw badAnswer("The answer has no message.");
    return new Answered(asked, answer, received, trailer);
  }

  async open(asked: Asked, message: Message): Promise<StreamResponse> {
    const answer = await this.#send(asked, message);
    if (!this.#isOurs(answer)) throw await notOurs(answer);
    this.#checkHead(answer);
    const { service } = asked;
    const method = asked.method as StreamResponse["method"];
    const trailer = new Headers();
    return { stream: true, service, method, header: answer.headers, trailer, message: this.#messages(answer, trailer) };
  }

  async *#messages(answer: HttpAnswer, trailer: Headers): AsyncGenerator<Message> {
    try {
      let end: Frame | undefined;
      for await (const frame of framesOf(answer, this.#settings.maxAnswerBytes)) {
        if (end !== undefined) throw badAnswer("There is something behind the end of the stream.");
        if (this.#protocol.isEnd(frame)) end = endOf(frame);
        else {
          const event = this.#read(frame);
          yield this.#inService(event);
          if (this.#older?.isLast(event) === true) return;
        }
      }
      const said = this.#protocol.ended(end, answer) ?? answer.trailers ?? [];
      for (const [name, value] of said) trailer.set(name, value);
    } catch (error) {
      throw connectErrorFor(error);
    }
  }

  #read({ flags, data }: Frame): Message {
    if ((flags & COMPRESSED) !== 0) throw badAnswer("The answer is compressed, which was not asked for.");
    return readBinary(this.#desc.output, data, this.#settings.maxAnswerValues);
  }

  #inService(message: Message, request?: Message): Message {
    return this.#older === undefined ? message : this.#older.up(message, request);
  }

  #send({ url, header, signal }: Asked, message: Message): Promise<HttpAnswer> {
    // The bytes are never in memory shared with other threads.
    const body = this.#write(message) as Uint8Array<ArrayBuffer>;
    return this.#http({ url, method: "POST", headers: header, body, signal });
  }

  #isOurs({ status, contentType }: HttpAnswer): boolean {
    return isSuccess(status) && contentType.startsWith(this.#answerType);
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

function endOf(frame: Frame): Frame {
  if (frame.data.byteLength <= MAX_END) return frame;
  throw badAnswer(`The end of the answer has more than ${MAX_END} bytes.`);
}

/** Flag of a message that is compressed. */
const COMPRESSED = 1;

/** Maximum size read of an answer outside the protocol, for its error, in bytes. */
const MAX_FOREIGN = 64 * 1024;

async function notOurs(answer: HttpAnswer): Promise<A2AError> {
  const text = await answer.text(MAX_FOREIGN).catch(() => "");
  answer.cancel();
  return errorOfHead(answer, text);
}

async function* framesOf(answer: HttpAnswer, maxBytes: number): AsyncGenerator<Frame> {
  const frames = new Frames(maxBytes);
  for await (const chunk of answer.chunks()) {
    frames.push(chunk);
    for (let frame = frames.take(); frame !== undefined; frame = frames.take()) yield frame;
  }
  if (frames.isCut) throw cutOff();
}

/** Returns the error for an incomplete answer. */
export function cutOff(): A2AError {
  return new A2AError("UNAVAILABLE", "The connection was closed before the answer was complete.");
}

/** One envelope of Connect's streams, gRPC-Web or gRPC: flags, and the number of bytes in its head. */
export interface Frame {
  readonly flags: number;
  readonly data: Uint8Array;
}

/** Size of the flags and length before each message, in bytes. */
const HEAD = 5;

/** Splits chunks of bytes into envelopes. */
export class Frames {
  readonly #maxBytes: number;
  readonly #gathered = new Gathered();
  /** Size of the next envelope with its head, as far as known, in bytes. */
  #need = HEAD;

  /** @param maxBytes maximum size of a message */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(bytes: Uint8Array): void {
    this.#gathered.push(bytes);
  }

  /** True if an envelope is incomplete. */
  get isCut(): boolean {
    return this.#gathered.size > 0;
  }

  /** Returns the next complete envelope, if any. @throws A2AError if it is too large */
  take(): Frame | undefined {
    if (this.#gathered.size < this.#need) return undefined;
    const { bytes } = this.#gathered;
    const length =
      ((bytes[1] as number) << 24) | ((bytes[2] as number) << 16) | ((bytes[3] as number) << 8) | (bytes[4] as number);
    const size = length >>> 0;
    if (size > this.#maxBytes)
      throw badAnswer(`A message of the answer has ${size} bytes, more than ${this.#maxBytes}.`);
    this.#need = HEAD + size;
    if (bytes.byteLength < this.#need) return undefined;
    const frame = { flags: bytes[0] as number, data: bytes.subarray(HEAD, this.#need) };
    this.#gathered.drop(this.#need);
    this.#need = HEAD;
    return frame;
  }
}
