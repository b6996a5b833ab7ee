import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { UnaryResponse } from "@connectrpc/connect";
import type { OlderMessages } from "../../version/older-calls.js";
import { envelopeWriter } from "../../wire/binary-writer.js";
import { COMPRESSED, type Envelopes } from "../../wire/envelopes.js";
import type { CallParameters } from "../calls/parameters.js";
import { badAnswer, isSuccess } from "../errors/answer-errors.js";
import type { AnswerReceiver, HttpAnswer, HttpClient, MessageSettings } from "../platform.js";
import { Answered, binaryAnswerReader, type WireCall } from "../transport/call.js";
import { cutOff, envelopesOf, FramedMethod, type FramedProtocol, notOurs } from "../transport/framed.js";
import { SharedHeaders } from "./shared-headers.js";

/** What the answers of a method have in common. */
interface AnswerForm {
  readonly settings: MessageSettings;
  readonly protocol: FramedProtocol;
  readonly read: (bytes: Uint8Array) => Message;
  readonly older: OlderMessages | undefined;
}

/**
 * A method of gRPC. Its calls share their headers, and its answers are passed to a receiver, which settles the promise
 * of the call: several promises for each call would cost more than reading the answer.
 */
export class GrpcMethod extends FramedMethod {
  readonly #http: HttpClient;
  readonly #write: (message: Message) => Uint8Array;
  readonly #form: AnswerForm;
  #headers: SharedHeaders | undefined;
  #timeoutMs: number | undefined;

  constructor(
    desc: DescMethod,
    settings: MessageSettings,
    http: HttpClient,
    protocol: FramedProtocol,
    older?: OlderMessages,
  ) {
    super(desc, settings, http, protocol, older);
    const { input, output } = older?.method ?? desc;
    const write = envelopeWriter(input);
    this.#http = http;
    this.#write = older === undefined ? write : (message) => write(older.down(message));
    this.#form = { settings, protocol, read: binaryAnswerReader(output, settings.maxAnswerValues), older };
  }

  /** Returns those of the last call, if it had the same timeout. The parameters are always those of the interface. */
  sharedHeaders(parameters: CallParameters | undefined, timeoutMs: number | undefined): SharedHeaders {
    if (this.#headers !== undefined && this.#timeoutMs === timeoutMs) return this.#headers;
    const headers = new SharedHeaders();
    this.prepare(headers, timeoutMs);
    parameters?.addTo(headers);
    this.#headers = headers;
    this.#timeoutMs = timeoutMs;
    return headers;
  }

  /** Calls as usual if the client cannot pass an answer to a receiver. */
  override ask(asked: WireCall, request: Message): Promise<UnaryResponse> {
    const { begin } = this.#http;
    if (begin === undefined) return super.ask(asked, request);
    return new Promise((resolve, reject) => {
      const { url, header: headers, signal } = asked;
      // The bytes are never in memory shared with other threads.
      const body = this.#write(request) as Uint8Array<ArrayBuffer>;
      const receiver = new UnaryReceiver({ form: this.#form, asked, request, resolve, reject });
      begin({ url, method: "POST", headers, body, signal }, receiver);
    });
  }
}

/** A call that waits for its answer. */
interface Waiting {
  readonly form: AnswerForm;
  readonly asked: WireCall;
  readonly request: Message;
  resolve(response: UnaryResponse): void;
  reject(error: unknown): void;
}

/** Receives an answer with one message. Reads it to the end, so that the connection can be reused. */
class UnaryReceiver implements AnswerReceiver {
  readonly #call: Waiting;
  readonly #envelopes: Envelopes;
  #answer: HttpAnswer | undefined;
  #received: Message | undefined;

  constructor(call: Waiting) {
    this.#call = call;
    this.#envelopes = envelopesOf(call.form.settings);
  }

  answered(answer: HttpAnswer): boolean {
    const { form, reject } = this.#call;
    this.#answer = answer;
    if (!isSuccess(answer.status) || !answer.contentType.startsWith("application/grpc")) {
      notOurs(answer).then(reject, reject);
      return false;
    }
    try {
      form.protocol.checkHead(answer);
      return true;
    } catch (error) {
      answer.cancel();
      reject(error);
      return false;
    }
  }

  take(chunk: Uint8Array): void {
    const { form, request } = this.#call;
    this.#envelopes.push(chunk);
    for (let frame = this.#envelopes.take(); frame !== undefined; frame = this.#envelopes.take()) {
      if (this.#received !== undefined) throw badAnswer("There is more than one message in the answer.");
      if ((frame.flags & COMPRESSED) !== 0) throw badAnswer("The answer is compressed, which was not asked for.");
      const message = form.read(frame.data);
      this.#received = form.older === undefined ? message : form.older.up(message, request);
    }
  }

  ended(): void {
    const { form, asked, resolve } = this.#call;
    try {
      if (this.#envelopes.isInside) throw cutOff();
      // The body follows the head.
      const answer = this.#answer as HttpAnswer;
      const trailer = form.protocol.ended(undefined, answer);
      if (this.#received === undefined) throw badAnswer("The answer has no message.");
      resolve(new Answered(asked, answer, this.#received, trailer));
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error: unknown): void {
    this.#call.reject(error);
  }
}
