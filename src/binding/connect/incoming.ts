import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { invalid } from "../../core/error.js";
import { defined } from "../../core/members.js";
import { bodyTooLarge, jsonBodyOf, notTheMessage, requestValues, tooManyValues } from "../../http/body.js";
import type { BufferBudget, InboundBudget } from "../../http/inbound-budget.js";
import { PREFIX_BYTES } from "../../wire/binary-output.js";
import { binaryReader } from "../../wire/binary-reader.js";
import { exceedsBinary } from "../../wire/count-values.js";
import { COMPRESSED, Envelopes } from "../../wire/envelopes.js";
import { isEnvelopedType } from "../../wire/media-type.js";
import { forConnect } from "./error.js";

/**
 * Checks the bytes of a message before Connect decodes them. Connect does not limit the number of values, treats
 * malformed bytes as an internal error, and returns errors without ErrorInfo.
 *
 * @throws A2AError with reason REQUEST_TOO_LARGE or INVALID_PARAMS
 */
export type CheckBytes = (message: Uint8Array) => void;

/** Returns the check of a binary message. */
export function binaryCheck(desc: DescMessage): CheckBytes {
  const read = binaryReader(desc);
  return (message) => {
    let exceeds: boolean;
    try {
      exceeds = exceedsBinary(desc, message, requestValues.max);
      if (!exceeds) read(message);
    } catch (error) {
      throw notTheMessage(desc, error);
    }
    if (exceeds) throw tooManyValues();
  };
}

/**
 * Checks a JSON message. Connect's own error text may contain characters that not every protocol can
 * carry.
 */
export const jsonCheck: CheckBytes = (message) => {
  plainJson(message);
};

/** Returns the JSON value of a message. @throws A2AError with reason REQUEST_TOO_LARGE or INVALID_PARAMS */
export function plainJson(message: Uint8Array): unknown {
  const body = jsonBodyOf(message);
  if (typeof body === "object") return body.json;
  throw invalid([{ field: "", description: "the body is not JSON in UTF-8" }]);
}

/** Returns the compression with a check of the decompressed bytes. */
export function checkedCompression(compression: Compression, check: CheckBytes): Compression {
  return {
    ...compression,
    decompress: async (bytes, readMaxBytes) => {
      try {
        const message = await compression
          .decompress(bytes, readMaxBytes)
          .catch((thrown: unknown) => unreadable(thrown, readMaxBytes));
        check(message);
        return message;
      } catch (error) {
        throw forConnect(error);
      }
    },
  };
}

/** The error for a body that cannot be decompressed or becomes too large, which is the client's mistake. */
function unreadable(thrown: unknown, max: number): never {
  if (ConnectError.from(thrown).code === Code.ResourceExhausted) throw bodyTooLarge(max);
  throw invalid([{ field: "", description: "the request cannot be decompressed" }]);
}

/**
 * Returns the request with checks of its uncompressed messages. The body throws the error to its reader, Connect, which
 * writes it in the protocol of the call.
 */
export function checkedRequest(request: UniversalServerRequest, rules: Rules): UniversalServerRequest {
  if (request.method === "GET") return checkedGet(request, rules.check);
  if (!isStreamBody(request.body)) return request;
  if (Number(request.header.get("content-length")) > rules.max + PREFIX_BYTES) {
    return { ...request, body: failing(bodyTooLarge(rules.max)) };
  }
  const enveloped = isEnvelopedType(request.header.get("content-type"));
  const plain = enveloped || /^(?:identity)?$/i.test(request.header.get("content-encoding") ?? "");
  const check = plain ? rules.check : () => {};
  return { ...request, body: checkedBody(request.body, { ...rules, check }, enveloped) };
}

interface Rules {
  readonly check: CheckBytes;
  /** Maximum size of a message, in bytes. */
  readonly max: number;
  /** Counts a request while it arrives. */
  readonly inboundBudget: InboundBudget;
}

/** Memory of a chunk in addition to its bytes, in bytes. */
const CHUNK_BYTES = 128;

async function* checkedBody(
  body: AsyncIterable<Uint8Array>,
  { check, max, inboundBudget }: Rules,
  enveloped: boolean,
): Body {
  const most = enveloped ? max + PREFIX_BYTES : max;
  const chunks: Uint8Array[] = [];
  // A body read by this folder is one chunk. Another adapter's may be many chunks, from an unknown address.
  let budget: BufferBudget | undefined;
  let size = 0;
  let bytes: Uint8Array;
  try {
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size > most) throw bodyTooLarge(max);
      chunks.push(chunk);
      if (chunks.length === 1) continue;
      budget ??= inboundBudget.open("");
      budget.take(chunk.byteLength + CHUNK_BYTES);
    }
    bytes = chunks.length === 1 ? defined(chunks[0]) : Buffer.concat(chunks);
    if (enveloped) checkEnvelopes(bytes, check);
    else check(bytes);
  } catch (error) {
    throw forConnect(error);
  } finally {
    budget?.close();
  }
  yield bytes;
}

type Body = AsyncGenerator<Uint8Array, void, undefined>;

/** Checks the complete, uncompressed messages of a body. @throws A2AError for unknown flags */
function checkEnvelopes(bytes: Uint8Array, check: CheckBytes): void {
  const envelopes = new Envelopes((flags) => {
    if (flags > COMPRESSED) throw invalid([{ field: "", description: `an envelope has the unknown flags ${flags}` }]);
  });
  envelopes.push(bytes);
  for (let each = envelopes.take(); each !== undefined; each = envelopes.take()) if (each.flags === 0) check(each.data);
}

/**
 * Checks the message of a GET, which Connect reads from the URL. For an invalid message it returns the same call as a
 * POST, whose body throws the error.
 */
function checkedGet(request: UniversalServerRequest, check: CheckBytes): UniversalServerRequest {
  const { searchParams } = new URL(request.url);
  if (!/^(?:identity)?$/.test(searchParams.get("compression") ?? "")) return request;
  const message = searchParams.get("message") ?? "";
  try {
    check(Buffer.from(message, searchParams.get("base64") === "1" ? "base64" : "utf8"));
    return request;
  } catch (fault) {
    const header = new Headers(request.header);
    header.set("content-type", `application/${searchParams.get("encoding") ?? ""}`);
    return { ...request, method: "POST", header, body: failing(fault) };
  }
}

// biome-ignore lint/correctness/useYield: it only throws.
async function* failing(fault: unknown): Body {
  throw forConnect(fault);
}

function isStreamBody(body: UniversalServerRequest["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}
