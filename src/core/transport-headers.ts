/** What belongs to one connection, frames a body or says how it is written: only the transport knows that of an answer. */
const names: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Whether a header is one that the transport sets, in requests as well as in answers. */
export function isTransportHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return names.has(lower) || lower === "host" || lower === "expect" || lower.startsWith("grpc-");
}

/** Removes the headers of an answer that are the transport's, as when an interceptor hands on those of another answer. */
export function dropTransportHeaders(headers: { keys(): Iterable<string>; delete(name: string): unknown }): void {
  for (const name of [...headers.keys()]) {
    if (names.has(name.toLowerCase()) || /^grpc-/i.test(name)) headers.delete(name);
  }
}
