import { parseUrl } from "../core/net.js";
import type { HttpRequest } from "../http/request.js";

/** The origin of a console, as its browser sees it. */
export interface SeenOrigin {
  readonly isSecure: boolean;
  /** Host with its port, unless that is the scheme's own. */
  readonly host: string;
  /** Path that a proxy has removed, without a slash at the end; empty for none. */
  readonly prefix: string;
}

/**
 * True for a request of the console's own page. Browsers say where a request comes from (`Sec-Fetch-Site`), or at least
 * the origin of one that writes. Programs that say nothing may read: they have a session or get nothing.
 */
export function isOwnRequest(request: HttpRequest, seen: SeenOrigin): boolean {
  const site = request.header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = request.header("origin");
  if (origin !== undefined) return parseUrl(origin)?.host === originUrl(seen)?.host;
  return request.method === "GET" || request.method === "HEAD";
}

export function portOf(seen: SeenOrigin): string {
  return originUrl(seen)?.port || (seen.isSecure ? "443" : "80");
}

const originUrl = ({ isSecure, host }: SeenOrigin): URL | undefined =>
  parseUrl(`${isSecure ? "https" : "http"}://${host}`);
