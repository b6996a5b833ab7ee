import { gunzip, inflate, type ZlibOptions } from "node:zlib";
import { StatusCode } from "../../core/error.js";
import type { Envelope } from "../../wire/envelopes.js";
import { envelopeTooLarge } from "./envelope-reader.js";
import { StatusError } from "./internal-service.js";

type Decompress = (bytes: Uint8Array, options: ZlibOptions, done: (error: Error | null, bytes: Buffer) => void) => void;

/** Supported compressions of requests (PROTOCOL-HTTP2, "Message-Encoding"). Answers are not compressed. */
const encodings = new Map<string, Decompress | undefined>([
  ["identity", undefined],
  ["gzip", gunzip],
  ["deflate", inflate],
]);

/** The value of `grpc-accept-encoding`. */
export const ACCEPTED: string = [...encodings.keys()].join(",");

/** Returns true if requests with this encoding are supported. */
export function isKnownEncoding(name: string): boolean {
  return encodings.has(name);
}

/**
 * Returns the bytes of a message, decompressed if necessary.
 *
 * @throws A2AError if the decompressed bytes exceed `maxBytes`; StatusError if they are damaged or the encoding is unknown
 */
export async function bytesOf(
  { flags, data }: Envelope,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Uint8Array> {
  if (flags === 0) return data;
  const decompress = encodings.get(encoding ?? "identity");
  if (decompress === undefined) {
    throw new StatusError(
      StatusCode.INVALID_ARGUMENT,
      "A message is marked as compressed, but grpc-encoding does not name a compression.",
    );
  }
  return new Promise((resolve, reject) => {
    decompress(data, { maxOutputLength: Math.max(1, maxBytes) }, (error, plain) => {
      if (error === null) resolve(plain);
      else reject(refusalOf(error as NodeJS.ErrnoException, maxBytes));
    });
  });
}

function refusalOf({ code }: NodeJS.ErrnoException, maxBytes: number): Error {
  if (code === "ERR_BUFFER_TOO_LARGE") return envelopeTooLarge(maxBytes);
  return new StatusError(StatusCode.INVALID_ARGUMENT, "The message cannot be decompressed.");
}
