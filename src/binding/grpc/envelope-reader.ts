import { A2AError, StatusCode } from "../../core/error.js";
import { PREFIX_BYTES } from "../../wire/binary-output.js";
import { COMPRESSED, Envelopes } from "../../wire/envelopes.js";
import { StatusError } from "./internal-service.js";

/** Returns true if a chunk of a body is exactly one uncompressed message, as most requests are. */
export function isOneMessage(chunk: Buffer, maxBytes: number): boolean {
  const length = chunk.length - PREFIX_BYTES;
  return length >= 0 && length <= maxBytes && chunk[0] === 0 && chunk.readUInt32BE(1) === length;
}

/**
 * Returns the reader of the messages of a body. It throws A2AError as soon as a prefix announces more than `maxBytes`,
 * and StatusError for an unknown flag.
 */
export function envelopeReader(maxBytes: number): Envelopes {
  return new Envelopes((flags, size) => {
    if (flags > COMPRESSED)
      throw new StatusError(StatusCode.INVALID_ARGUMENT, `The message has flag ${flags}; only 0 and 1 are valid.`);
    if (size > maxBytes) throw envelopeTooLarge(maxBytes);
  });
}

/** The error for a message above the limit, in bytes. */
export function envelopeTooLarge(maxBytes: number): A2AError {
  const message = `The message is larger than ${maxBytes} bytes.`;
  return new A2AError("REQUEST_TOO_LARGE", message, { metadata: { limit: "maxRequestBytes" } });
}
