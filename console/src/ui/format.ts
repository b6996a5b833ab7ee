const locale = navigator.language;
const full = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" });
const clock = new Intl.DateTimeFormat(locale, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
const number = new Intl.NumberFormat(locale);
const decimal = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });

/** Steps of relative times: the unit, and its length in seconds. */
const units = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** Returns a time with date and zone, for titles. */
export const absoluteTime = (at: Date): string => full.format(at);

/** Returns the time of the day with milliseconds. */
export const clockTime = (at: Date): string => clock.format(at);

/** Returns a time relative to now, such as "3 min. ago". */
export function relativeTime(at: Date): string {
  const seconds = (at.getTime() - Date.now()) / 1_000;
  const [unit, length] = units.find(([, each]) => Math.abs(seconds) >= each) ?? ["second", 1];
  return relative.format(Math.round(seconds / length), unit);
}

/** Returns a number with the separators of the viewer's language. */
export const numberText = (value: number | bigint): string => number.format(value);

/** Returns a size such as "1.4 MB", in powers of 1,000. */
export function bytesText(size: number): string {
  const steps = ["B", "kB", "MB", "GB", "TB"];
  let value = size;
  let step = 0;
  while (value >= 1_000 && step < steps.length - 1) {
    value /= 1_000;
    step += 1;
  }
  return `${decimal.format(value)} ${steps[step]}`;
}

/** Returns a duration such as "840 ms", "3.2 s" or "4 min 5 s". */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${decimal.format(ms / 1_000)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const hours = Math.floor(seconds / 3_600);
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return `${hours} h ${Math.floor((seconds % 3_600) / 60)} min`;
}
