/** W3C Trace Context, version 00 and later. */
const form = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/** Tells whether a text is a `traceparent`, of any version. */
export function isTraceParent(text: string): boolean {
  return form.test(text);
}

/** Returns the trace id of a valid `traceparent` (W3C Trace Context, 3.2). */
export function traceIdOf(traceParent: string): string {
  return traceParent.slice(3, 35);
}
