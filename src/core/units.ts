/** Milliseconds of a unit of time, the longest first. */
const durations: readonly (readonly [unit: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
];

/** Bytes of a unit of size, the largest first. */
const sizes: readonly (readonly [unit: string, bytes: number])[] = [
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
  ["B", 1],
];

/**
 * The milliseconds of a time such as `500ms`, `10s`, `15m`, `2h` or `7d`; fractions such as `1.5h` too, and 0 needs no unit.
 *
 * @throws RangeError for a text without a unit, and for what is no whole number of milliseconds.
 */
export function parseDuration(text: string): number {
  return parse(text, durations, "a time with its unit, such as 500ms, 10s, 15m, 2h or 7d");
}

/**
 * The bytes of a size such as `64KiB`, `8MiB` or `1GiB`; fractions such as `1.5MiB` too, and 0 needs no unit.
 *
 * @throws RangeError for a text without a unit, and for what is no whole number of bytes.
 */
export function parseSize(text: string): number {
  return parse(text, sizes, "a size with its unit, such as 512B, 64KiB, 8MiB or 1GiB");
}

/** Milliseconds in the longest unit that they are a whole number of, as `parseDuration` reads them. */
export function showDuration(ms: number): string {
  return show(ms, durations);
}

/** Bytes in the largest unit that they are a whole number of, as `parseSize` reads them. */
export function showSize(bytes: number): string {
  return show(bytes, sizes);
}

type Units = readonly (readonly [unit: string, factor: number])[];

function parse(text: string, units: Units, form: string): number {
  const [, digits, name = ""] = /^(\d{1,12}(?:\.\d{1,9})?) ?([a-z]*)$/i.exec(text.trim()) ?? [];
  const [, factor] = units.find(([unit]) => unit.toLowerCase() === name.toLowerCase()) ?? [];
  if (digits !== undefined && name === "" && Number(digits) === 0) return 0;
  const exact = Number(digits) * (factor ?? Number.NaN);
  const value = Math.round(exact);
  // 2.3 times 1,000 is a little less than 2,300 in floating point.
  if (!Number.isSafeInteger(value) || Math.abs(exact - value) > 1e-6) throw new RangeError(`It is not ${form}.`);
  return value;
}

function show(value: number, units: Units): string {
  const [unit, factor] = units.find(([, each]) => value >= each && value % each === 0) ?? units.at(-1) ?? ["", 1];
  return value === 0 ? "0" : `${value / factor}${unit}`;
}
