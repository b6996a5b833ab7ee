import { isIP } from "node:net";
import { A2AError } from "../core/error.js";
import type { HttpRequest } from "./request.js";

/** Says what is wrong with the host that a request names; undefined when nothing is. */
export type HostCheck = (request: HttpRequest) => A2AError | undefined;

/** Which hosts a server answers to. */
export interface HostRules {
  /** Names, `*.example.com` for all below one; true for every host. */
  readonly allowed: true | readonly string[];
}

/** Hosts that were found good before, so that they need not be taken apart again. */
const MAX_KNOWN = 64;

/**
 * Checks the host of requests: `Host`, `:authority`, or the one in the target (RFC 9112, 3.2; RFC 9113, 8.3.1). A page on
 * the web reaches a server on its reader's machine, and is of its origin to the browser, where its own name resolves
 * to the address of that machine ("DNS rebinding"). What such a page cannot do is to name `localhost` or an address
 * instead, which is why those need no permission.
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
    if (name === undefined) return malformed;
    if (!isAllowed(name)) return notAllowed;
    if (known.size < MAX_KNOWN) known.add(host);
    last = host;
    return undefined;
  };
  return (request) => {
    const host = request.header(":authority");
    // What comes without one, over HTTP/1.0, is no browser.
    const fault = host === undefined ? undefined : check(host);
    if (fault !== undefined) return fault;
    if (request.namesSeveralHosts) return malformed;
    const { url } = request;
    if (url.startsWith("/")) return undefined;
    const target = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1];
    return target === undefined ? undefined : check(target);
  };
}

const malformed = new A2AError("INVALID_REQUEST", "The request does not name one host that is well formed.");

const notAllowed = new A2AError(
  "HOST_NOT_ALLOWED",
  "The server does not answer to the host that the request names. It can be told to: allowedHosts (--allowed-hosts).",
);

/** A host as in a URL (RFC 3986, 3.2.2), nobody's name and password before it. */
const authority = /^([a-z0-9._~%!$&'()*+,;=-]+|\[[0-9a-f:.]+\])(?::(\d{0,5}))?$/i;

/** The name or address in `host:port`; undefined where it is none. */
function nameIn(host: string): string | undefined {
  const [, name, port = ""] = authority.exec(host) ?? [];
  if (name === undefined || Number(port) > 65_535) return undefined;
  // One dot at the end makes a name absolute, and no other one.
  return name.toLowerCase().replace(/\.$/, "");
}

function matcher(allowed: readonly string[]): (name: string) => boolean {
  const names = new Set(allowed.filter((name) => !name.startsWith("*.")).map((name) => name.toLowerCase()));
  const below = allowed.filter((name) => name.startsWith("*.")).map((name) => name.slice(1).toLowerCase());
  return (name) =>
    name === "localhost" ||
    name.endsWith(".localhost") ||
    isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 ||
    names.has(name) ||
    below.some((suffix) => name.endsWith(suffix));
}

/** Whether only this machine reaches what listens on a host. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127\./.test(host);
}
