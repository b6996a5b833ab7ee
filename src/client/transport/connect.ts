import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { Gathered } from "../../core/bytes.js";
import { A2AError } from "../../core/error.js";
import { binaryWriter } from "../../wire/binary-writer.js";
import type { Envelope } from "../../wire/envelopes.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { hasMediaType } from "../../wire/media-type.js";
import { parsedJson } from "../../wire/parsed-json.js";
import { badAnswer, errorOfHead, isSuccess } from "../errors/answer-errors.js";
import type { HttpAnswer, HttpClient, TransportSettings } from "../platform.js";
import { Answered, binaryAnswerReader, CallTransport, checkJson, type WireCall, type WireMethod } from "./call.js";
import { cutOff, FramedMethod, type FramedProtocol, methodUrl } from "./framed.js";
import type { RequestHeaders } from "./request-headers.js";
import { errorInConnect } from "./wire-errors.js";

/** The Connect protocol, in binary (connectrpc.com/docs/protocol). */
export function connectTransport(settings: TransportSettings, http: HttpClient): Transport {
  return new CallTransport(settings, (desc) => {
    if (desc.methodKind === "unary") return new ConnectMethod(desc, settings, http);
    return desc.methodKind === "server_streaming" ? new FramedMethod(desc, settings, http, streams) : undefined;
  });
}

const UNARY_TYPE = "application/proto";

function prepare(headers: RequestHeaders, timeoutMs: number | undefined): void {
  headers.set("connect-protocol-version", "1");
  if (timeoutMs !== undefined) headers.set("connect-timeout-ms", `${Math.ceil(timeoutMs)}`);
}

/** A unary method, whose answer is the whole body. */
class ConnectMethod implements WireMethod {
  readonly verb = "POST";
  readonly url: string;
  readonly #desc: DescMethod;
  readonly #write: (message: Message) => Uint8Array;
  readonly #read: (bytes: Uint8Array) => Message;
  readonly #maxBytes: number;
  readonly #maxValues: number;
  readonly #http: HttpClient;

  constructor(desc: DescMethod, settings: TransportSettings, http: HttpClient) {
    this.url = methodUrl(settings.url, desc);
    this.#desc = desc;
    this.#write = binaryWriter(desc.input);
    this.#read = binaryAnswerReader(desc.output, settings.maxAnswerValues);
    this.#maxBytes = settings.maxAnswerBytes;
    this.#maxValues = settings.maxAnswerValues;
    this.#http = http;
  }

  prepare(headers: RequestHeaders, timeoutMs: number | undefined): void {
    headers.set("content-type", UNARY_TYPE);
    prepare(headers, timeoutMs);
  }

  open(): Promise<StreamResponse> {
    return Promise.reject(new A2AError("METHOD_NOT_FOUND", `${this.#desc.name} has one answer.`));
  }

  async ask(asked: WireCall, message: Message): Promise<UnaryResponse> {
    const { url, header, signal } = asked;
    // The bytes are never in memory shared with other threads.
    const body = this.#write(message) as Uint8Array<ArrayBuffer>;
    const answer = await this.#http({ url, method: "POST", headers: header, body, signal });
    if (!isSuccess(answer.status) || !hasMediaType(answer.contentType, UNARY_TYPE)) {
      const text = await answer.text(this.#maxBytes);
      checkJson(text, this.#maxValues);
      throw errorInConnect(parsedJson(text), answer.headers) ?? errorOfHead(answer, text);
    }
    const bytes = await allOf(answer, this.#maxBytes);
    return new Answered(asked, answer, this.#read(bytes));
  }
}

async function allOf(answer: HttpAnswer, maxBytes: number): Promise<Uint8Array> {
  const gathered = new Gathered();
  await answer.read((part) => {
    gathered.push(part);
    if (gathered.size > maxBytes) throw badAnswer(`The answer has more than ${maxBytes} bytes.`);
  });
  return gathered.bytes;
}

/** Flag of the envelope that ends a stream, with JSON in it. */
const END_STREAM = 2;

const streams: FramedProtocol = {
  contentType: "application/connect+proto",
  prepare,
  checkHead: () => {},
  isEnd: ({ flags }) => (flags & END_STREAM) !== 0,
  ended: (end: Envelope | undefined, answer: HttpAnswer) => {
    if (end === undefined) throw cutOff();
    const json = parsedJson(new TextDecoder().decode(end.data));
    if (!isJsonObject(json)) throw badAnswer("The end of the stream is not what the Connect protocol has for it.");
    if (json.error !== undefined && json.error !== null) {
      throw (
        errorInConnect(json.error, answer.headers) ?? badAnswer("The stream ended with an error that cannot be read.")
      );
    }
    return trailersIn(json.metadata);
  },
};

function trailersIn(metadata: unknown): Headers {
  const trailers = new Headers();
  for (const [name, values] of isJsonObject(metadata) ? Object.entries(metadata) : []) {
    for (const value of Array.isArray(values) ? values : []) {
      try {
        trailers.append(name, String(value));
      } catch {
        // Not a valid header, and so unreachable for callers.
      }
    }
  }
  return trailers;
}
