import { type DescMethod, fromBinary, fromJsonString, type Message } from "@bufbuild/protobuf";
import { EmptySchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Compression, compressionNegotiate } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import type { Call } from "../../core/call.js";
import type { Limits } from "../../core/limits.js";
import { binaryWriter } from "../../wire/binary-writer.js";
import { exceedsBinary } from "../../wire/count-values.js";
import { jsonReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { binaryPieces, jsonPieces, type Pieces } from "../../wire/large/large.js";
import { protobufRequest } from "../../wire/page-size.js";
import { weightOf } from "../../wire/weight.js";
import { messageOf } from "../answer.js";
import type { BindingOptions, NodeServerRequest, NodeServerResponse, Target } from "../binding.js";
import { readBody, tooManyValues } from "../http-body.js";
import { HttpExchange } from "../http-exchange.js";
import { isLegalValue } from "./call.js";
import { jsonOptions } from "./definition.js";
import { failureOf } from "./error.js";
import { notTheMessage, plainJson } from "./incoming.js";

/** Media types of unary calls of the Connect protocol. */
const mediaType = /^application\/(?:json(?:; ?charset=utf-?8)?|proto)$/i;

const PROTO_TYPE = "application/proto";
const JSON_TYPE = "application/json";

/** Answers from this size on are compressed for those who take that, in bytes: what Connect's handlers do. */
const COMPRESS_MIN_BYTES = 1024;

/** Reads requests and writes answers of one method in one format. */
interface Codec {
  readonly type: string;
  readonly read: (bytes: Buffer) => Message;
  readonly write: (message: Message) => string | Buffer;
  /** The same for a large one. */
  readonly pieces: (message: Message) => Promise<Pieces> | Pieces;
}

/**
 * Answers the ordinary calls of one unary method: Connect's protocol, by POST, with a request that is not compressed and
 * has no deadline. Connect's own handler makes a dozen objects of the Fetch API and several async iterables for each of
 * them, at four times the cost; it answers all other calls, and these would look the same if it did.
 */
export class OrdinaryUnary {
  readonly #method: DescMethod;
  readonly #options: BindingOptions;
  readonly #compressions: readonly Compression[];
  readonly #binary: Codec;
  readonly #json: Codec;
  /** The last host that a URL could be made with. */
  #host: string | undefined;

  constructor(method: DescMethod, options: BindingOptions, compressions: readonly Compression[]) {
    this.#method = method;
    this.#options = options;
    this.#compressions = compressions;
    this.#binary = binaryCodec(method, options.limits);
    this.#json = jsonCodec(method, options.limits);
  }

  /** Whether a request is an ordinary one. */
  takes(request: NodeServerRequest): boolean {
    const { method, headers } = request;
    if (method !== "POST" || !mediaType.test(headers["content-type"] ?? "")) return false;
    const encoding = headers["content-encoding"];
    if (encoding !== undefined && encoding !== "identity") return false;
    return (
      headers["connect-timeout-ms"] === undefined &&
      this.#isHost("authority" in request ? request.authority : headers.host)
    );
  }

  /** Answers it; never rejects. */
  async answer(request: NodeServerRequest, response: NodeServerResponse, target: Target): Promise<void> {
    const { invoke, limits, arrivals, logger } = this.#options;
    // Parameters of the query are no headers here, as they are over HTTP+JSON.
    const exchange = new HttpExchange(request, response, { ...target, query: "" });
    const call = exchange.call("connect", "1.0");
    const codec = isJson(request) ? this.#json : this.#binary;
    let { type } = codec;
    let status = 200;
    let body: string | Uint8Array;
    let errorHeaders: Iterable<[string, string]> = [];
    try {
      const message = codec.read(await readBody(exchange, { max: limits.maxRequestBytes, framing: 0 }, arrivals));
      const answer = messageOf(await invoke({ method: this.#method, request: message, call }));
      if (weightOf(answer) !== undefined) return await this.#large(exchange, call, codec, answer);
      body = codec.write(answer);
    } catch (thrown) {
      const facts = { binding: call.binding, method: this.#method.name, requestId: call.requestId };
      const error = failureOf(thrown, { aborted: exchange.gone, reason: undefined }, logger, facts);
      status = codeToHttpStatus(error.code);
      type = JSON_TYPE;
      body = errorToJsonBytes(error, jsonOptions);
      errorHeaders = error.metadata;
    }
    const headers: [string, string][] = [];
    for (const [name, value] of call.responseHeaders) if (isLegalValue(value)) headers.push([name, value]);
    headers.push(...errorHeaders);
    const compression = this.#compressionFor(request, body);
    if (compression !== undefined) {
      body = await compression.compress(typeof body === "string" ? Buffer.from(body) : body);
      headers.push(["content-encoding", compression.name]);
    }
    exchange.reply({ status, type, body, headers });
  }

  /** A large answer is written piece by piece, and not compressed. */
  async #large(exchange: HttpExchange, call: Call, { type, pieces }: Codec, answer: Message): Promise<void> {
    try {
      const headers = [...call.responseHeaders].filter(([, value]) => isLegalValue(value));
      const reply = { status: 200, type, headers, pieces: await pieces(answer) };
      await exchange.replyInPieces(reply, this.#options.limits.stalledReaderMs);
    } finally {
      call.written?.();
    }
  }

  #compressionFor({ headers }: NodeServerRequest, body: string | Uint8Array): Compression | undefined {
    const accepted = headers["accept-encoding"];
    if (accepted === undefined || Buffer.byteLength(body) < COMPRESS_MIN_BYTES) return undefined;
    const { response } = compressionNegotiate([...this.#compressions], null, `${accepted}`, "accept-encoding");
    return response ?? undefined;
  }

  /** Without a usable one there is no URL, which Connect's handlers need. */
  #isHost(host: string | undefined): boolean {
    if (host === undefined) return false;
    if (host !== this.#host && !URL.canParse(`http://${host}`)) return false;
    this.#host = host;
    return true;
  }
}

function isJson({ headers }: NodeServerRequest): boolean {
  return headers["content-type"]?.toLowerCase() !== PROTO_TYPE;
}

function binaryCodec({ input, output }: DescMethod, { maxRequestValues }: Limits): Codec {
  const asMeant = protobufRequest(input);
  return {
    type: PROTO_TYPE,
    read: (bytes) => {
      let message: Message | undefined;
      try {
        if (!exceedsBinary(input, bytes, maxRequestValues)) message = fromBinary(input, bytes);
      } catch {
        throw notTheMessage(input);
      }
      if (message === undefined) throw tooManyValues(maxRequestValues);
      return asMeant(message);
    },
    write: binaryWriter(output),
    pieces: async (message) => (await binaryPieces(output, message)).pieces,
  };
}

function jsonCodec({ input, output }: DescMethod, limits: Limits): Codec {
  const readJson = jsonReader(input);
  return {
    type: JSON_TYPE,
    read: (bytes) => {
      const json = plainJson(bytes, limits);
      refuseDuplicates(bytes.toString());
      return readJson(json);
    },
    write: jsonWriter(output),
    pieces: (message) => jsonPieces(output, message),
  };
}

/** Connect takes no JSON in which an object has a member twice, and says so in words of protobuf-es. */
function refuseDuplicates(text: string): void {
  try {
    fromJsonString(EmptySchema, text, { ignoreUnknownFields: true });
  } catch {
    try {
      // Any JSON is a Value: what is refused here is refused for that reason.
      fromJsonString(ValueSchema, text, jsonOptions);
    } catch (error) {
      throw ConnectError.from(error, Code.InvalidArgument);
    }
  }
}
