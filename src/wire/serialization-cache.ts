import type { Message } from "@bufbuild/protobuf";
import type { JsonForm } from "./json-form.js";

const textKey: unique symbol = Symbol("text");
const bytesKey: unique symbol = Symbol("bytes");
const formsKey: unique symbol = Symbol("forms");
const likeKey: unique symbol = Symbol("like");

/** A message that many readers share, with its cached serializations. */
interface Shared {
  [textKey]?: string;
  [bytesKey]?: Uint8Array;
  /** Texts in forms other than ProtoJSON. */
  [formsKey]?: Map<JsonForm, string>;
  /** The same message in another version's contract; or, for that message, its original. */
  [likeKey]?: Message;
}

/**
 * Marks a message that several readers will serialize and that no longer changes. Each serialization is then created
 * once and cached with it.
 */
export function cacheForms<M extends Message>(message: M): M {
  const shared: Message & Shared = message;
  shared[textKey] = "";
  return message;
}

/** Returns true if `cacheForms` marked the message. */
export function cachesForms(message: Message & Shared): boolean {
  return message[textKey] !== undefined;
}

/**
 * Returns the JSON of a message, which is the same for every reader that uses the same type's writer.
 *
 * @param form the form of the writer if it is not ProtoJSON; each form has its own text
 */
export function cachedText(message: Message, write: (message: Message) => string, form?: JsonForm): string {
  if (form !== undefined) return sharedFormItem(message, write, form);
  const shared: Message & Shared = message;
  const known = shared[textKey];
  if (known === undefined) return write(message);
  if (known !== "") return known;
  const text = write(message);
  shared[textKey] = text;
  return text;
}

/** Returns the JSON of a message as an item of a list. The text is flat, because it is joined to others repeatedly. */
export function sharedItem(message: Message & Shared, write: (message: Message) => string): string {
  const known = message[textKey];
  if (known === undefined) return write(message);
  if (known !== "") return known;
  const text = write(message);
  // V8 keeps a concatenated string as its parts until a character is read.
  text.charCodeAt(0);
  message[textKey] = text;
  return text;
}

/** Like `sharedItem`, for a form. Each form has its own text, because readers of several versions share a history. */
export function sharedFormItem(message: Message, write: (message: Message) => string, form: JsonForm): string {
  const shared: Message & Shared = message;
  if (shared[textKey] === undefined) return write(message);
  const known = shared[formsKey]?.get(form);
  if (known !== undefined) return known;
  const text = write(message);
  text.charCodeAt(0);
  shared[formsKey] ??= new Map();
  shared[formsKey].set(form, text);
  return text;
}

/**
 * Returns a copy with other fields. It is shared if the message is, but without the message's cached serializations.
 */
export function sharedCopy<M extends Message>(message: M, fields: Partial<M>): M {
  const copy: Shared & M = { ...message, ...fields };
  if (copy[textKey] !== undefined) copy[textKey] = "";
  if (copy[bytesKey] !== undefined) delete copy[bytesKey];
  if (copy[formsKey] !== undefined) delete copy[formsKey];
  if (copy[likeKey] !== undefined) delete copy[likeKey];
  return copy;
}

/**
 * Returns a message in the contract of another version. For a shared message it is created once and shared by that
 * version's readers, together with its bytes. Each of the two refers to the other: readers hold one of them, and the
 * next reader finds it through the other.
 *
 * @param make creates it; the same contract for all messages of a type
 */
export function cachedLike(message: Message, make: (message: Message) => Message): Message {
  const shared: Message & Shared = message;
  if (shared[textKey] === undefined) return make(message);
  if (shared[likeKey] !== undefined) return shared[likeKey];
  const like: Shared & Message = cacheForms(make(message));
  like[likeKey] = message;
  shared[likeKey] = like;
  return like;
}

/** Returns the bytes of a message with gRPC's prefix (`envelopeWriter`), so that no reader needs a copy. */
export function cachedEnvelope(message: Message, write: (message: Message) => Uint8Array): Uint8Array {
  const shared: Message & Shared = message;
  if (shared[textKey] === undefined) return write(message);
  shared[bytesKey] ??= write(message);
  return shared[bytesKey];
}
