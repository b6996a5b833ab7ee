import { hostnameOf } from "../core/net.js";

/** Names and addresses of this machine that count as one host: a card often has one of them, and its caller another. */
const localhost: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]"]);

/**
 * Returns the host of a URL for comparison, without the port, since an agent's bindings often have different ones.
 * `localhost`, `127.0.0.1` and `[::1]` are the same host; any other address or name is a separate host.
 */
export function comparableHost(url: string): string | undefined {
  const name = hostnameOf(url);
  return name !== undefined && localhost.has(name) ? "localhost" : name;
}

/** Returns the URL of an interface with a scheme of the web. Addresses of gRPC have no scheme, or one of their own. */
export function webUrl(url: string): string {
  const text = url.trim();
  return /^https?:/i.test(text) ? text : `https://${text.replace(/^[a-z][a-z\d+.-]*:\/{2,3}/i, "")}`;
}
