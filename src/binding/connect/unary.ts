import { type DescMethod, fromJsonString, type Message } from "@bufbuild/protobuf";
import { EmptySchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Compression, compressionNegotiate } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import type { Call } from "../../core/call.js";
import type { A2AError } from "../../core/error.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import { parseUrl } from "../../core/net.js";
import { LONG_BYTES, notTheMessage, requestValues, tooManyValues } from "../../http/body.js";
import { PiecesBody } from "../../http/pieces.js";
import { type HttpRequest, headerCallOf } from "../../http/request.js";
import { type HttpResponse, type Rejection, rejectionOf } from "../../http/response.js";
import { binaryReader } from "../../wire/binary-reader.js";
import { binaryWriter } from "../../wire/binary-writer.js";
import { exceedsBinary } from "../../wire/count-values.js";
import { protobufRequest } from "../../wire/field-rules.js";
import { jsonReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { binaryPieces, jsonPieces, type Pieces } from "../../wire/large/large.js";
import { weightOf } from "../../wire/marks.js";
import { isConnectUnaryType, JSON_TYPE } from "../../wire/media-type.js";
import { unaryAnswer } from "../answer.js";
import type { ServiceBindingOptions } from "../binding.js";
import { failureOf } from "../failure.js";
import { isLegalValue } from "./call.js";
import { jsonOptions } from "./definition.js";
import { connectErrorOf } from "./error.js";
import { plainJson } from "./incoming.js";

const PROTO_TYPE = "application/proto";

/** Minimum size of answers that are compressed for clients that accept it, in bytes, like in Connect's handlers. */
const COMPRESS_MIN_BYTES = 1024;

/** Reads requests and writes answers of one method in one format. */
interface Codec {
  readonly type: string;
  /** Checks and parses a request. The returned function creates the message. */
  readonly parse: (bytes: Buffer) => () => Message;
  readonly write: (message: Message) => string | Uint8Array;
  /** Like `write`, for a large message. */
  readonly pieces: (message: Message) => Promise<Pieces> | Pieces;
}

/**
 * Answers the ordinary calls of a unary method: Connect's protocol by POST, with an uncompressed request and no
 * deadline. Connect's own handler takes four times the CPU, because it creates a dozen Fetch API objects and several
 * async iterables per call. That handler answers all other calls, and would answer these with the same bytes.
 */
export class OrdinaryUnary {
  readonly #method: DescMethod;
  readonly #options: ServiceBindingOptions;
  readonly #compressions: readonly Compression[];
  readonly #binary: Codec;
  readonly #json: Codec;
  /** The last host that was valid in a URL. */
  #host: string | undefined;

  constructor(method: DescMethod, options: ServiceBindingOptions, compressions: readonly Compression[]) {
    this.#method = method;
    this.#options = options;
    this.#compressions = compressions;
    this.#binary = binaryCodec(method);
    this.#json = jsonCodec(method);
  }

  /** Returns true for an ordinary request. */
  takes(request: HttpRequest): boolean {
    if (request.method !== "POST" || !isConnectUnaryType(request.header("content-type"))) return false;
    const encoding = request.header("content-encoding");
    if (encoding !== undefined && encoding !== "identity") return false;
    return request.header("connect-timeout-ms") === undefined && this.#isHost(request.header(":authority"));
  }

  /** Answers an ordinary request; never rejects. */
  async answer(request: HttpRequest): Promise<HttpResponse> {
    const { invoke, limits, inboundBudget, version } = this.#options;
    const call = headerCallOf(request, "connect", version);
    const codec = isJson(request) ? this.#json : this.#binary;
    let { type } = codec;
    let status = 200;
    let body: string | Uint8Array;
    let errorHeaders: Iterable<[string, string]> = [];
    let rejections: readonly Rejection[] | undefined;
    let hasCalled = false;
    try {
      const bytes = await request.readBody({ max: limits.maxRequestBytes, framing: 0 }, inboundBudget);
      const make = codec.parse(bytes);
      if (bytes.length >= LONG_BYTES) await yieldToEventLoop();
      const message = make();
      hasCalled = true;
      const answer = unaryAnswer(await invoke({ method: this.#method, request: message, call }));
      if (weightOf(answer) !== undefined) return await this.#large(request, call, codec, answer);
      body = codec.write(answer);
    } catch (thrown) {
      const failure = this.#failure(thrown, request, call);
      if (!hasCalled) rejections = [rejectionOf(call.binding, failure, this.#method.name)];
      const error = connectErrorOf(failure, this.#options.codes);
      status = codeToHttpStatus(error.code);
      type = JSON_TYPE;
      body = errorToJsonBytes(error, jsonOptions);
      errorHeaders = error.metadata;
    }
    const headers: [string, string][] = [];
    for (const [name, value] of call.answerHeaders) if (isLegalValue(value)) headers.push([name, value]);
    headers.push(...errorHeaders);
    const compression = this.#compressionFor(request, body);
    if (compression !== undefined) {
      body = await compression.compress(typeof body === "string" ? Buffer.from(body) : body);
      headers.push(["content-encoding", compression.name]);
    }
    return { status, type, body, headers, rejections };
  }

  /** Answers with a large message, piece by piece and uncompressed. */
  async #large(request: HttpRequest, call: Call, { type, pieces }: Codec, answer: Message): Promise<HttpResponse> {
    const { written } = call;
    try {
      const headers = [...call.answerHeaders].filter(([, value]) => isLegalValue(value));
      const body = new PiecesBody({
        pieces: await pieces(answer),
        written,
        failed: (thrown) => void this.#failure(thrown, request, call),
      });
      return { status: 200, type, headers, body };
    } catch (error) {
      written?.();
      throw error;
    }
  }

  #failure(thrown: unknown, request: HttpRequest, call: Call): A2AError {
    const { logger } = this.#options;
    return failureOf(thrown, { client: request, logger, binding: call.binding, method: this.#method.name, call });
  }

  #compressionFor(request: HttpRequest, body: string | Uint8Array): Compression | undefined {
    const accepted = request.header("accept-encoding");
    if (accepted === undefined || this.#compressions.length === 0 || Buffer.byteLength(body) < COMPRESS_MIN_BYTES)
      return undefined;
    const { response } = compressionNegotiate([...this.#compressions], null, accepted, "accept-encoding");
    return response ?? undefined;
  }

  /** Returns true for a valid host, because Connect's handlers need a URL. */
  #isHost(host: string | undefined): boolean {
    if (host === undefined) return false;
    if (host !== this.#host && parseUrl(`http://${host}`) === undefined) return false;
    this.#host = host;
    return true;
  }
}

function isJson(request: HttpRequest): boolean {
  return request.header("content-type")?.toLowerCase() !== PROTO_TYPE;
}

function binaryCodec({ input, output }: DescMethod): Codec {
  const asMeant = protobufRequest(input);
  const readInput = binaryReader(input);
  return {
    type: PROTO_TYPE,
    parse: (bytes) => {
      const fitting = <T>(read: () => T): T => {
        try {
          return read();
        } catch (error) {
          throw notTheMessage(input, error);
        }
      };
      if (fitting(() => exceedsBinary(input, bytes, requestValues.max))) throw tooManyValues();
      return () => asMeant(fitting(() => readInput(bytes)));
    },
    write: binaryWriter(output),
    pieces: async (message) => (await binaryPieces(output, message)).pieces,
  };
}

function jsonCodec({ input, output }: DescMethod): Codec {
  const readJson = jsonReader(input);
  return {
    type: JSON_TYPE,
    parse: (bytes) => {
      const json = plainJson(bytes);
      refuseDuplicates(bytes.toString());
      return () => readJson(json);
    },
    write: jsonWriter(output),
    pieces: (message) => jsonPieces(output, message),
  };
}

/** Rejects JSON in which an object has a member twice, with the error text of protobuf-es, as Connect does. */
function refuseDuplicates(text: string): void {
  try {
    fromJsonString(EmptySchema, text, { ignoreUnknownFields: true });
  } catch {
    try {
      // Any other JSON is a valid Value, so this error is about a duplicate member.
      fromJsonString(ValueSchema, text, jsonOptions);
    } catch (error) {
      throw ConnectError.from(error, Code.InvalidArgument);
    }
  }
}
