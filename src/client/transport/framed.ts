import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { Gathered } from "../../core/bytes.js";
import { A2AError } from "../../core/error.js";
import type { OlderMessages } from "../../version/callable.js";
import { envelopeWriter } from "../../wire/binary-writer.js";
import { badAnswer, errorOfHead, isSuccess } from "../errors/answer-errors.js";
import type { HttpAnswer, HttpClient, MessageSettings } from "../platform.js";
import { Answered, type Asked, CallTransport, connectErrorFor, readBinary, type Spoken } from "./call.js";
import type { RequestHeaders } from "./request-headers.js";

/** How a protocol that sends messages in envelopes differs from others. */
export interface FramedProtocol {
  /** The media type of a request, and how that of an answer begins. */
  readonly contentType: string;
  prepare(headers: RequestHeaders, timeoutMs: number | undefined): void;
  /** What the headers say alone. @throws A2AError where they are an error */
  checkHead(answer: HttpAnswer): void;
  /** Whether an envelope is the end of the answer. */
  isEnd(frame: Frame): boolean;
  /**
   * What the end says.
   *
   * @param end the envelope of it, undefined where the body ended without one
   * @returns the trailers; undefined: they are those of the answer
   * @throws A2AError for an error, and UNAVAILABLE where the answer was cut off
   */
  ended(end: Frame | undefined, answer: HttpAnswer): Headers | undefined;
}

/** The transport of such a protocol, in binary. */
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

/** Where a method is, below the URL of its server. */
function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

/** The URL of a method: its path goes behind that of the interface, in front of its query. */
export function methodUrl(url: string, method: DescMethod): string {
  const mark = url.indexOf("?");
  const base = mark < 0 ? url : url.slice(0, mark);
  return `${base.replace(/\/+$/, "")}${pathOf(method)}${mark < 0 ? "" : url.slice(mark)}`;
}

/** One method of it: also what a protocol with another form for calls with one answer has its streams from. */
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

  /** @param older how another version has the method, which is spoken then */
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

  /** The one message of an answer, which is read to its end, so that the connection can be used again. */
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
    if (received === undefined) throw badAnswer("There is no message in the answer.");
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
    // It has memory of its own, which is never shared with other threads.
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

/** Trailers and errors are a few lines, each of which becomes a header, in bytes. */
const MAX_END = 256 * 1024;

function endOf(frame: Frame): Frame {
  if (frame.data.byteLength <= MAX_END) return frame;
  throw badAnswer(`The end of the answer has more than ${MAX_END} bytes.`);
}

/** Flag of a message that is compressed. */
const COMPRESSED = 1;

/** Of a body that somebody else answers with, this much is read for the error, in bytes. */
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

/** The error for an answer that ended before its end. */
export function cutOff(): A2AError {
  return new A2AError("UNAVAILABLE", "The connection was closed before the answer was complete.");
}

/** One envelope of Connect's streams, gRPC-Web and gRPC: flags, and as many bytes as its head says. */
export interface Frame {
  readonly flags: number;
  readonly data: Uint8Array;
}

/** The flags and the length before each message, in bytes. */
const HEAD = 5;

/** Takes bytes wherever they were cut, and gives envelopes. */
export class Frames {
  readonly #maxBytes: number;
  readonly #gathered = new Gathered();
  /** Bytes that the next envelope takes, its head included, as far as that is known. */
  #need = HEAD;

  /** @param maxBytes the largest message */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(bytes: Uint8Array): void {
    this.#gathered.push(bytes);
  }

  /** Whether an envelope has begun that is not complete. */
  get isCut(): boolean {
    return this.#gathered.size > 0;
  }

  /** The next one, as soon as it is complete. @throws A2AError for one that is too large */
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
