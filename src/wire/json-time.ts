import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { unwritable } from "./json-text.js";

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z in seconds: what google.protobuf.Timestamp allows. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;

const pattern = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

const SECONDS_OF_DAY = 86_400;

const twoDigits = Array.from({ length: 60 }, (_, value) => `${value}`.padStart(2, "0"));

let lastDay = Number.NaN;
let lastDate = "";

/**
 * A timestamp as JSON text, `"YYYY-MM-DDTHH:mm:ss.sssZ"` with always three fraction digits (specification 5.6.1); finer
 * parts are cut off. The date of the last one is kept, for most timestamps are of the same day.
 *
 * @throws A2AError with reason INTERNAL outside the range of google.protobuf.Timestamp.
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
