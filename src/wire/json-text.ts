import { A2AError } from "../core/error.js";
import { WRITTEN_JSON_LEVELS } from "../core/nesting.js";

// Texts that may stand in a JSON string as they are (RFC 8259, section 7), and where nobody sees a line's end. Surrogates
// are left out, so that JSON.stringify, which escapes a lone one, decides about every text that has any. Matching the
// whole text is twice as fast as looking for a character that needs an escape.
const plain = /^[ !#-[\]-\u0084\u0086-\u2027\u202a-\ud7ff\ue000-\uffff]*$/;

/** Where some readers break lines, as Python's `str.splitlines()` does; JSON may have them as they are in its strings. */
const breaks = /[\u0085\u2028\u2029]/g;

const escapes: Readonly<Record<string, string>> = { "\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029" };

/** The same JSON without a character that any reader could take for the end of a line. */
export function onOneLine(json: string): string {
  return json.replace(breaks, (character) => escapes[character] ?? "");
}

/**
 * A JSON string, on one line for every reader: that is judged here, where each text is looked at anyhow, and not once more
 * for each event of a stream. Most texts need no escape and are only put in quotes, which is cheaper than JSON.stringify.
 */
export function quote(text: string): string {
  return plain.test(text) ? `"${text}"` : onOneLine(JSON.stringify(text));
}

/** The error for a message that ProtoJSON cannot express: a fault of the program that made it, not of its reader. */
export function unwritable(what: string): A2AError {
  return new A2AError("INTERNAL", "Internal error.", { cause: new TypeError(`no JSON form: ${what}`) });
}

/**
 * A JSON number. NaN and the infinities have none (specification of ProtoJSON, google.protobuf.Value).
 */
export function finite(value: number): string {
  if (!Number.isFinite(value)) throw unwritable(`the number ${value}`);
  return `${value}`;
}

/**
 * Any JSON value, for fields of type google.protobuf.Struct, which a message holds as a plain object. Stricter than
 * JSON.stringify, which turns what it cannot express into `null` or leaves it out: this throws.
 */
export function writeJsonValue(value: unknown, depth = 0): string {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      return finite(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      if (depth >= WRITTEN_JSON_LEVELS) throw unwritable(`nesting deeper than ${WRITTEN_JSON_LEVELS}`);
      return Array.isArray(value)
        ? writeArray(value, depth + 1)
        : writeObject(value as Record<string, unknown>, depth + 1);
    default:
      throw unwritable(`a value of type ${typeof value}`);
  }
}

function writeArray(values: readonly unknown[], depth: number): string {
  let out = "";
  for (const value of values) {
    out += out === "" ? writeJsonValue(value, depth) : `,${writeJsonValue(value, depth)}`;
  }
  return `[${out}]`;
}

function writeObject(members: Record<string, unknown>, depth: number): string {
  let out = "";
  for (const name of Object.keys(members)) {
    const member = `${quote(name)}:${writeJsonValue(members[name], depth)}`;
    out += out === "" ? member : `,${member}`;
  }
  return `{${out}}`;
}
