/** The name of the loopback interface and names below it (RFC 6761, 6.3), and its addresses, in the form that `URL` gives them. */
const loopback = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** The names and addresses of one interface: a card often has one of them, and its caller another. */
const localhost: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]"]);

/** Returns the host of a URL in lower case, without the dot of a fully qualified name; undefined for a text that is not a URL. */
function nameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, "") : undefined;
}

/** Whether the host of a URL is this machine. */
export function isLoopback(url: string): boolean {
  const name = nameOf(url);
  return name !== undefined && loopback.test(name);
}

/**
 * Returns the host of a URL, for comparing it with others: without the port, as the bindings of one agent often have several.
 * `localhost`, `127.0.0.1` and `[::1]` are one host; any other address and any other name is a host of its own.
 */
export function hostOf(url: string): string | undefined {
  const name = nameOf(url);
  return name !== undefined && localhost.has(name) ? "localhost" : name;
}

/** Returns the URL of an interface with a scheme of the web. Addresses of gRPC have no scheme, or one of their own. */
export function webUrl(url: string): string {
  const text = url.trim();
  return /^https?:/i.test(text) ? text : `https://${text.replace(/^[a-z][a-z\d+.-]*:\/{2,3}/i, "")}`;
}

/** Whether a text is a host without a scheme, a port and a path. */
export function isHost(text: unknown): boolean {
  const isBare = typeof text === "string" && /^(?:\[[\da-f:.]+\]|[^\s/?#:@\\[\]]+)$/i.test(text);
  return isBare && URL.canParse(`https://${text}`);
}
