import type { Message } from "@bufbuild/protobuf";
import type { JsonForm } from "./make-form.js";

const textKey: unique symbol = Symbol("text");
const bytesKey: unique symbol = Symbol("bytes");
const formsKey: unique symbol = Symbol("forms");
const likeKey: unique symbol = Symbol("like");

/** A message that many readers share, with the forms that it was written in already. */
interface Shared {
  [textKey]?: string;
  [bytesKey]?: Uint8Array;
  /** Its texts in other forms than ProtoJSON. */
  [formsKey]?: Map<JsonForm, string>;
  /** The same in the contract of another version; or what such a message was made of, which it keeps. */
  [likeKey]?: Message;
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

/**
 * The JSON of a message, which is the same for every reader that uses the same type's writer.
 * @param form the one that the writer writes, where it is not ProtoJSON: each has a text of its own
 */
export function cachedText(message: Message, write: (message: Message) => string, form?: JsonForm): string {
  if (form !== undefined) return sharedFormItem(message, write, form);
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

/** The same in a form, of which each has a text of its own: a history is shared by readers of several versions. */
export function sharedFormItem(message: Message, write: (message: Message) => string, form: JsonForm): string {
  const shared = message as Shared;
  if (shared[textKey] === undefined) return write(message);
  const known = shared[formsKey]?.get(form);
  if (known !== undefined) return known;
  const text = write(message);
  text.charCodeAt(0);
  shared[formsKey] ??= new Map();
  shared[formsKey].set(form, text);
  return text;
}

/** A copy with other fields: shared if the message is, but the forms that this one was written in are not its own. */
export function sharedCopy<M extends Message>(message: M, fields: Partial<M>): M {
  const copy: Shared & M = { ...message, ...fields };
  if (copy[textKey] !== undefined) copy[textKey] = "";
  if (copy[bytesKey] !== undefined) delete copy[bytesKey];
  if (copy[formsKey] !== undefined) delete copy[formsKey];
  if (copy[likeKey] !== undefined) delete copy[likeKey];
  return copy;
}

/**
 * A message in the contract of another version. Of one that is shared it is made once, and is shared by the readers of that version:
 * so are its bytes. Each keeps the other, since readers hold one of them, and the next reader looks for it by the other.
 *
 * @param make makes it; of one type always by the same contract
 */
export function cachedLike(message: Message, make: (message: Message) => Message): Message {
  const shared = message as Shared;
  if (shared[textKey] === undefined) return make(message);
  if (shared[likeKey] !== undefined) return shared[likeKey];
  const like: Shared & Message = cacheForms(make(message));
  like[likeKey] = message;
  shared[likeKey] = like;
  return like;
}

/** The bytes of a message as gRPC has them: behind their envelope (`envelopeWriter`), so that no reader needs a copy. */
export function cachedEnvelope(message: Message, write: (message: Message) => Uint8Array): Uint8Array {
  const shared = message as Shared;
  if (shared[textKey] === undefined) return write(message);
  shared[bytesKey] ??= write(message);
  return shared[bytesKey];
}
