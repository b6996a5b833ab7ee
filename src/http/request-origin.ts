/** The parts of a request that show which address its client used, and where the client is. */
export interface RequestOrigin {
  /** A header by its lower-case name; several values are joined by commas. */
  readonly header: (name: string) => string | undefined;
  /** Address of the other end of the connection. */
  readonly address: string;
  readonly encrypted: boolean;
  /** Path that the handler is mounted below, without a slash at the end; empty at the root. */
  readonly mount: string;
}

/** Whether the peer at an address is a proxy whose headers are trusted. */
export type Trust = (address: string) => boolean;

/** A host with or without a port, and nothing that could change the rest of a URL (RFC 3986, 3.2). */
const host = /^(?:[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_.])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** Whether a text may stand as the host in a URL. */
export function isHost(text: string): boolean {
  return host.test(text);
}

/** The host that the client named in `:authority` (HTTP/2) or `Host` (HTTP/1.1), if it is well formed. */
export function hostOf(origin: RequestOrigin): string | undefined {
  const named = origin.header(":authority") ?? origin.header("host");
  return named !== undefined && isHost(named) ? named : undefined;
}
