import { isIP } from "node:net";
import { A2AError } from "../core/error.js";
import { lazy } from "../core/lazy.js";
import { withoutBrackets } from "../core/net.js";
import type { HttpRequest } from "./request.js";

/** Returns the error of a request for a host that is not allowed, or undefined. */
export type HostCheck = (request: HttpRequest) => A2AError | undefined;

/** The hosts that a server answers to. */
export interface HostRules {
  /** Host names, or `*.example.com` for all subdomains of one; true for every host. */
  readonly allowed: true | readonly string[];
}

/** Maximum number of accepted hosts in the cache, which saves parsing them again. */
const MAX_KNOWN = 64;

/**
 * Checks the host of requests: `Host`, `:authority`, or the one in the target (RFC 9112, 3.2; RFC 9113, 8.3.1). This
 * prevents DNS rebinding: a web page lets its own name resolve to the address of its reader's machine, so that the
 * browser treats a server there as the page's own origin. Such a page cannot use `localhost` or an IP address as its
 * name, so these are allowed.
 */
export function createHostCheck({ allowed }: HostRules): HostCheck {
  const isAllowed = allowed === true ? () => true : matcher(allowed);
  const known = new Set<string>();
  let last: string | undefined;
  const check = (host: string): A2AError | undefined => {
    if (host === last || known.has(host)) {
      last = host;
      return undefined;
    }
    const name = nameIn(host);
    if (name === undefined) return malformed();
    if (!isAllowed(name)) return notAllowed();
    if (known.size < MAX_KNOWN) known.add(host);
    last = host;
    return undefined;
  };
  return (request) => {
    const host = request.header(":authority");
    // A request without a host, over HTTP/1.0, does not come from a browser.
    const fault = host === undefined ? undefined : check(host);
    if (fault !== undefined) return fault;
    if (request.namesSeveralHosts) return malformed();
    const { url } = request;
    if (url.startsWith("/")) return undefined;
    const target = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1];
    return target === undefined ? undefined : check(target);
  };
}

const malformed = lazy(() => new A2AError("INVALID_REQUEST", "The request must name exactly one valid host."));

const notAllowed = lazy(
  () =>
    new A2AError(
      "HOST_NOT_ALLOWED",
      "The server does not accept the host in the request. Allow it with allowedHosts (--allowed-hosts).",
    ),
);

/** A host as in a URL (RFC 3986, 3.2.2), without user name and password. */
const authority = /^([a-z0-9._~%!$&'()*+,;=-]+|\[[0-9a-f:.]+\])(?::(\d{0,5}))?$/i;

/** Returns the name or address in `host:port`; undefined if it is malformed. */
function nameIn(host: string): string | undefined {
  const [, name, port = ""] = authority.exec(host) ?? [];
  if (name === undefined || Number(port) > 65_535) return undefined;
  // One dot at the end makes a name absolute; it is still the same name.
  return name.toLowerCase().replace(/\.$/, "");
}

function matcher(allowed: readonly string[]): (name: string) => boolean {
  const names = new Set(allowed.filter((name) => !name.startsWith("*.")).map((name) => name.toLowerCase()));
  const below = allowed.filter((name) => name.startsWith("*.")).map((name) => name.slice(1).toLowerCase());
  return (name) =>
    name === "localhost" ||
    name.endsWith(".localhost") ||
    isIP(withoutBrackets(name)) !== 0 ||
    names.has(name) ||
    below.some((suffix) => name.endsWith(suffix));
}
