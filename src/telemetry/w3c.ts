import { isTraceParent } from "../core/ids.js";
import type { SpanContext } from "./api.js";

/** Visible ASCII and spaces, at most 512 characters, which the W3C asks to pass on. */
const traceStateForm = /^[\x20-\x7e]{1,512}$/;

/** The W3C headers of a trace; empty texts for none. */
export interface TraceHeaders {
  readonly traceParent: string;
  readonly traceState: string;
}

/** Tells whether a text may be passed on as a `tracestate`. Longer ones are dropped. */
export function isTraceState(text: string): boolean {
  return traceStateForm.test(text);
}

/** Reads a `traceparent`; undefined if it is not valid. */
export function spanContextOf(traceParent: string): SpanContext | undefined {
  if (!isTraceParent(traceParent)) return undefined;
  const [, traceId = "", spanId = "", flags = ""] = traceParent.split("-");
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

/** Tells whether two headers name the same span, whatever else they say. False if one is empty. */
export function isSameSpan(one: string, other: string): boolean {
  return other !== "" && (one === other || one.slice(3, 52) === other.slice(3, 52));
}

/** Writes a `traceparent`; empty for a span context that is not valid. */
export function traceParentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  if (/^0*$/.test(traceId)) return "";
  const flags = traceFlags === 0 ? "00" : (traceFlags & 255).toString(16).padStart(2, "0");
  return `00-${traceId}-${spanId}-${flags}`;
}
