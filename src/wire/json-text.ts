import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { A2AError } from "../core/error.js";
import { membersOf } from "../core/members.js";
import { WRITTEN_JSON_LEVELS } from "./nesting.js";

// Texts that a JSON string may contain unescaped (RFC 8259, section 7) and that no reader splits into lines. Surrogates
// are excluded, so that JSON.stringify, which escapes a lone one, handles every text with surrogates. Matching the
// whole text is twice as fast as searching for a character that needs an escape.
const plain = /^[ !#-[\]-\u0084\u0086-\u2027\u202a-\ud7ff\ue000-\uffff]*$/;

/**
 * Characters that some readers treat as line breaks, such as Python's `str.splitlines()`. JSON strings may contain them
 * unescaped.
 */
const breaks = /[\u0085\u2028\u2029]/g;

const escapes: Readonly<Record<string, string>> = { "\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029" };

/** Escapes the characters that a reader could take for a line break. */
export function onOneLine(json: string): string {
  return json.replace(breaks, (character) => escapes[character] ?? "");
}

/**
 * Returns a JSON string on one line for every reader. Line breaks are escaped here, where each text is scanned anyway,
 * and not again for each event of a stream. Most texts need no escape and are only quoted, which is cheaper than
 * JSON.stringify.
 */
export function quote(text: string): string {
  return plain.test(text) ? `"${text}"` : onOneLine(JSON.stringify(text));
}

/**
 * The error for a message that ProtoJSON cannot express. The program that created the message is at fault, not its
 * reader.
 */
export function unwritable(what: string): A2AError {
  return new A2AError("INTERNAL", "Internal error.", { cause: new TypeError(`no JSON form: ${what}`) });
}

/**
 * Returns a JSON number. NaN and the infinities have no JSON form (specification of ProtoJSON, google.protobuf.Value).
 */
export function finite(value: number): string {
  if (!Number.isFinite(value)) throw unwritable(`the number ${value}`);
  return `${value}`;
}

/**
 * Writes any JSON value, for fields of type google.protobuf.Struct, which a message holds as a plain object.
 * JSON.stringify would write `null` for a value without a JSON form, or omit it; this function throws.
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
      return Array.isArray(value) ? writeArray(value, depth + 1) : writeObject(membersOf(value), depth + 1);
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

/** The range of google.protobuf.Timestamp in seconds: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;

const pattern = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

const SECONDS_OF_DAY = 86_400;

const twoDigits = Array.from({ length: 60 }, (_, value) => `${value}`.padStart(2, "0"));

let lastDay = Number.NaN;
let lastDate = "";

/**
 * Returns a timestamp as JSON text, `"YYYY-MM-DDTHH:mm:ss.sssZ"`, always with three fraction digits (specification
 * 5.6.1). Further digits are cut off. The last date is cached, because most timestamps are of the same day.
 *
 * @throws A2AError with reason INTERNAL outside the range of google.protobuf.Timestamp
 */
export function formatTimestamp({ seconds: long, nanos }: Timestamp): string {
  const seconds = Number(long);
  const inRange = seconds >= MIN_SECONDS && seconds <= MAX_SECONDS && nanos >= 0 && nanos <= 999_999_999;
  if (!inRange) throw unwritable("a Timestamp out of range");
  const day = Math.floor(seconds / SECONDS_OF_DAY);
  if (day !== lastDay) {
    lastDate = new Date(day * SECONDS_OF_DAY * 1000).toISOString().slice(0, 11);
    lastDay = day;
  }
  const time = seconds - day * SECONDS_OF_DAY;
  const [hour, minute, second] = [Math.floor(time / 3600), Math.floor(time / 60) % 60, time % 60];
  const millis = `${1000 + Math.floor(nanos / 1_000_000)}`.slice(1);
  return `"${lastDate}${twoDigits[hour]}:${twoDigits[minute]}:${twoDigits[second]}.${millis}Z"`;
}

/**
 * Reads an ISO 8601 timestamp with zero to nine fraction digits. The specification requires `Z` (5.6.1); an offset is
 * tolerated. Undefined for invalid text or a date that does not exist.
 */
export function parseTimestamp(text: string): Timestamp | undefined {
  if (!pattern.test(text)) return undefined;
  const isUtc = text.endsWith("Z");
  const local = text.slice(0, 19);
  const seconds = Date.parse(`${local}${isUtc ? "Z" : text.slice(-6)}`) / 1000;
  if (!(seconds >= MIN_SECONDS && seconds <= MAX_SECONDS) || !isDay(local)) return undefined;
  const fraction = text.slice(20, isUtc ? -1 : -6);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: Number(fraction.padEnd(9, "0")) });
}

/** Detects dates that do not exist: Date.parse reads the 30th of February as the 2nd of March. */
function isDay(local: string): boolean {
  const day = Number(local.slice(8, 10));
  return day <= 28 || new Date(`${local}Z`).getUTCDate() === day;
}
