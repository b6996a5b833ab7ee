import { COMPRESSED, type Envelope, Envelopes } from "../../../src/wire/envelopes.js";

/** Returns the complete messages of a body of gRPC-Web or of a Connect stream. */
export function framesOf(bytes: Uint8Array): readonly Envelope[] {
  const envelopes = new Envelopes(() => {});
  envelopes.push(bytes);
  const all: Envelope[] = [];
  for (let next = envelopes.take(); next !== undefined; next = envelopes.take()) all.push(next);
  return all;
}

export const isCompressed = ({ flags }: Envelope): boolean => (flags & COMPRESSED) !== 0;

/** True for the last message, which has the status instead of content. */
export const isEnd = ({ flags }: Envelope): boolean => (flags & 0b1000_0010) !== 0;
