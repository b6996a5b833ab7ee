import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { fieldValue, isLeftToLibrary } from "../field-rules.js";

/** Length above which texts and bytes are cut, in characters or bytes. */
export const CUT_AT: number = 64 * 1024;

/** A value that is written in parts, because it may be large itself. */
export type Part =
  | { readonly kind: "messages"; readonly desc: DescMessage; readonly items: readonly Message[] }
  | { readonly kind: "message"; readonly desc: DescMessage; readonly message: Message }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array };

/** Returns the value of a field that may be large. Undefined if it is written at once. */
export function largePart(field: DescField, message: Message): Part | undefined {
  const value = fieldValue(message, field);
  if (value === undefined || field.fieldKind === "map") return undefined;
  if (field.message !== undefined) {
    const desc = field.message;
    if (isWhole(desc)) return undefined;
    return field.fieldKind === "list"
      ? { kind: "messages", desc, items: value as readonly Message[] }
      : { kind: "message", desc, message: value as Message };
  }
  if (field.fieldKind !== "scalar") return undefined;
  if (typeof value === "string") return value.length > CUT_AT ? { kind: "text", text: value } : undefined;
  return value instanceof Uint8Array && value.length > CUT_AT ? { kind: "bytes", bytes: value } : undefined;
}

/** Types with a special JSON form are written at once. */
function isWhole(desc: DescMessage): boolean {
  return desc.typeName.startsWith("google.protobuf.") || isLeftToLibrary(desc);
}

const spines = new WeakMap<DescMessage, boolean>();

/**
 * Returns true if a message is written in parts: its type contains lists of messages at any depth, or one of its fields
 * is large.
 */
export function isSpine(desc: DescMessage, message: Message): boolean {
  return hasLists(desc) || desc.fields.some((field) => field.message === undefined && largePart(field, message));
}

function hasLists(desc: DescMessage): boolean {
  let known = spines.get(desc);
  if (known === undefined) {
    // A recursive type reaches itself before the result is known.
    spines.set(desc, false);
    known = desc.fields.some(({ fieldKind, message }) => {
      if (message === undefined || fieldKind === "map" || isWhole(message)) return false;
      return fieldKind === "list" || hasLists(message);
    });
    spines.set(desc, known);
  }
  return known;
}

/** Yields the ranges [from, to) of a text's parts. No surrogate pair is split. */
export function* cuts(text: string): Generator<readonly [from: number, to: number], void, undefined> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + CUT_AT);
    const last = text.charCodeAt(to - 1);
    if (to < text.length && last >= 0xd800 && last <= 0xdbff) to--;
    yield [from, to];
    from = to;
  }
}
