import type { Binding } from "../../client/discovery/interfaces.js";
import { attempt } from "../../core/members.js";
import { isTransportHeader, parseUrl } from "../../core/net.js";

/** Shortest poll interval, in milliseconds. */
const MIN_INTERVAL_MS = 10;

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Longest duration, in hours: timers of Node.js have 31 bits for milliseconds, and end longer times at once. */
const MAX_HOURS = 596;

/** Reads a duration such as `500ms`, `1m30s` or, in seconds, `2`. @returns milliseconds */
export function duration(text: string): number {
  const ms = millisecondsIn(text);
  if (ms > MAX_HOURS * 3_600_000) throw new Error(`is longer than ${MAX_HOURS}h`);
  return ms;
}

function millisecondsIn(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1_000;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) throw new Error("is not a duration such as 500ms, 2s or 1m30s");
  let ms = 0;
  for (const [, number = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    ms += Number(number) * (units[unit] ?? 0);
  }
  return ms;
}

/** Reads the delay between polls. @returns milliseconds, at least 10 */
export function interval(text: string): number {
  const ms = duration(text);
  if (ms === 0) throw new Error("has to be more than 0");
  return Math.max(MIN_INTERVAL_MS, ms);
}

/** Shows a duration as users write it. */
export function shownDuration(ms: number): string {
  if (ms % 60_000 === 0 && ms > 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

/** Reads the value of a boolean in a variable or file. */
export function boolean(text: string): boolean {
  const known = { true: true, "1": true, false: false, "0": false }[text.trim().toLowerCase()];
  if (known === undefined) throw new Error("is neither true nor false");
  return known;
}

/** Returns a reader that accepts one of several words. */
export function oneOf<T extends string>(...words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new Error(`is not one of ${words.join(", ")}`);
    return found;
  };
}

const bindingNames: Readonly<Record<string, Binding>> = {
  jsonrpc: "JSONRPC",
  rest: "HTTP+JSON",
  grpc: "GRPC",
  connect: "CONNECT",
  "http+json": "HTTP+JSON",
  "grpc-web": "GRPC-WEB",
};

export function binding(text: string): Binding {
  const found = bindingNames[text.trim().toLowerCase()];
  if (found === undefined) throw new Error("is not a transport: jsonrpc, rest, grpc, connect or grpc-web");
  return found;
}

export function jsonObject(text: string): Record<string, never> {
  // Every start loads this file, so it imports none that read JSON.
  const value: unknown = attempt(() => JSON.parse(text));
  if (value === undefined) throw new Error("is not JSON");
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("is not a JSON object");
  return value as Record<string, never>;
}

/** Reads a service parameter: `name:value` or `name=value`. */
export function parameter(text: string): readonly [name: string, value: string] {
  const at = text.search(/[:=]/);
  const [name, value] = at < 0 ? ["", ""] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) throw new Error("is not of the form name:value");
  if (isTransportHeader(name)) throw new Error("names a header that the transport sets itself");
  // The value may be a secret, so it is not repeated.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw new Error("has a value that a header cannot carry");
  return [name, value];
}

/** Reads a credential, which a header has to carry. */
export function secret(text: string): string {
  if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)) throw new Error("has characters that cannot be sent");
  return text;
}

/** Reads a URL of http or https. */
export function httpUrl(text: string): string {
  if (!/^https?:$/.test(parseUrl(text)?.protocol ?? "")) throw new Error("is not a URL of http or https");
  return text;
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new Error(`is not a whole number from ${min} to ${max}`);
    return value;
  };
}
