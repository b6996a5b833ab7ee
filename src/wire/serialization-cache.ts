import type { Message } from "@bufbuild/protobuf";

const textKey: unique symbol = Symbol("text");
const bytesKey: unique symbol = Symbol("bytes");

/** A message that many readers share, with the forms that it was written in already. */
interface Shared {
  [textKey]?: string;
  [bytesKey]?: Uint8Array;
}

/**
 * Marks a message that several readers are about to write and nobody changes any more: each form of it is then made
 * once and kept with it.
 */
export function cacheForms<M extends Message>(message: M): M {
  (message as Shared)[textKey] = "";
  return message;
}

/** Whether a message was marked so. */
export function cachesForms(message: Message): boolean {
  return (message as Shared)[textKey] !== undefined;
}

/** The JSON of a message, which is the same for every reader that uses the same type's writer. */
export function cachedText(message: Message, write: (message: Message) => string): string {
  const shared = message as Shared;
  const known = shared[textKey];
  if (known === undefined) return write(message);
  if (known !== "") return known;
  const text = write(message);
  shared[textKey] = text;
  return text;
}

/** The JSON of a message as an item of a list: in one piece, since it is put together with the others each time. */
export function sharedItem(message: Message, write: (message: Message) => string): string {
  const known = (message as Shared)[textKey];
  if (known === undefined) return write(message);
  if (known !== "") return known;
  const text = write(message);
  // V8 keeps what was joined as its parts until somebody looks at a character.
  text.charCodeAt(0);
  (message as Shared)[textKey] = text;
  return text;
}

/** A copy with other fields: shared if the message is, but the forms that this one was written in are not its own. */
export function sharedCopy<M extends Message>(message: M, fields: Partial<M>): M {
  const copy: Shared & M = { ...message, ...fields };
  if (copy[textKey] !== undefined) copy[textKey] = "";
  if (copy[bytesKey] !== undefined) delete copy[bytesKey];
  return copy;
}

/** The bytes of a message as gRPC has them: behind their envelope (`envelopeWriter`), so that no reader needs a copy. */
export function cachedEnvelope(message: Message, write: (message: Message) => Uint8Array): Uint8Array {
  const shared = message as Shared;
  if (shared[textKey] === undefined) return write(message);
  shared[bytesKey] ??= write(message);
  return shared[bytesKey];
}
