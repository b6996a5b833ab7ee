import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { unwritable } from "./json-text.js";

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z in seconds: what google.protobuf.Timestamp allows. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;

const pattern = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

let lastSeconds = Number.NaN;
let lastText = "";

/**
 * A timestamp as `YYYY-MM-DDTHH:mm:ss.sssZ`, always with three fraction digits (specification 5.6.1); finer parts are
 * cut off. Many timestamps fall into the same second, so the text of the last one is kept.
 */
export function formatTimestamp(value: Timestamp): string {
  const seconds = Number(value.seconds);
  if (seconds !== lastSeconds) {
    if (!(seconds >= MIN_SECONDS && seconds <= MAX_SECONDS)) throw unwritable("a Timestamp out of range");
    lastText = new Date(seconds * 1000).toISOString().slice(0, -4);
    lastSeconds = seconds;
  }
  const { nanos } = value;
  if (!(nanos >= 0 && nanos <= 999_999_999)) throw unwritable("a Timestamp out of range");
  const millis = Math.floor(nanos / 1_000_000);
  return `"${lastText}${millis < 10 ? "00" : millis < 100 ? "0" : ""}${millis}Z"`;
}

/**
 * Reads an ISO 8601 timestamp with zero to nine fraction digits. `Z` is what the specification asks for (5.6.1);
 * an offset is tolerated. Undefined when it is no such text or not a date of the calendar.
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

/** Date.parse takes the 30th of February for the 2nd of March. */
function isDay(local: string): boolean {
  const day = Number(local.slice(8, 10));
  return day <= 28 || new Date(`${local}Z`).getUTCDate() === day;
}
