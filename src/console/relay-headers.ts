import type { IncomingHttpHeaders } from "node:http";
import { hopByHop } from "../push-receiver/arrival.js";

/** Hop-by-hop headers: not forwarded (RFC 9110, 7.6.1). */
const ofConnection: ReadonlySet<string> = new Set([
  ...hopByHop,
  ...["http2-settings", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
]);

/** Headers of a request that concern the console and its browser, not the agent. */
const ofBrowser: ReadonlySet<string> = new Set([
  ...["accept-encoding", "cookie", "origin", "referer"],
  ...["forwarded", "via", "x-real-ip"],
]);

/** Headers of an answer that a browser would apply to the origin of the console. */
const ofOrigin: ReadonlySet<string> = new Set([
  // Cookies, logins and storage.
  ...["activate-storage-access", "clear-site-data", "set-cookie", "set-cookie2", "set-login"],
  // Policies.
  ...["connection-allowlist", "content-security-policy", "document-policy", "feature-policy", "integrity-policy"],
  ...["origin-agent-cluster", "service-worker-allowed", "strict-transport-security", "timing-allow-origin"],
  // Connections, and requests that the browser makes of its own accord.
  ...["accept-ch", "alt-svc", "critical-ch", "link", "refresh", "speculation-rules", "x-dns-prefetch-control"],
  // Caches.
  ...["content-location", "no-vary-search", "supports-loading-mode", "use-as-dictionary"],
  // Reports, and hints for developers.
  ...["expect-ct", "nel", "observe-browsing-topics", "public-key-pins", "report-to", "reporting-endpoints"],
  ...["sourcemap", "x-sourcemap"],
]);

/** Families of such headers, and headers of the relay itself. */
const ofOriginFamily =
  /^(?:access-control|attribution-reporting|cross-origin|parley-relay|permissions-policy|sec|secure-session)-|-report-only$/;

/** Challenges for which a browser asks for a password in the name of the console. */
const asksByBrowser = /(?:^|,)\s*(?:basic|digest|negotiate|ntlm)\b/i;

/** Returns the headers of a request to pass on. */
export function headersToAgent(headers: Headers): Record<string, string> {
  const named = namedBy(headers.get("connection") ?? undefined);
  const isDropped = (name: string): boolean =>
    ofConnection.has(name) ||
    ofBrowser.has(name) ||
    named.has(name) ||
    /^(?:sec-|parley-relay-|x-forwarded-)/.test(name);
  return Object.fromEntries([...headers].filter(([name]) => !isDropped(name)));
}

/** Returns the headers of an answer to pass on. */
export function headersFromAgent(headers: IncomingHttpHeaders): [string, string][] {
  const named = namedBy(headers.connection);
  const passed: [string, string][] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || ofConnection.has(name) || ofOrigin.has(name) || named.has(name)) continue;
    if (ofOriginFamily.test(name)) continue;
    const text = Array.isArray(value) ? value.join(", ") : value;
    const isRenamed = name === "location" || (name === "www-authenticate" && asksByBrowser.test(text));
    passed.push([isRenamed ? `parley-relay-${name}` : name, text]);
  }
  return passed;
}

/** Names in `Connection`, which are headers of this connection too. */
function namedBy(connection = ""): Set<string> {
  return new Set(connection.split(",").map((name) => name.trim().toLowerCase()));
}
