import { isIP } from "node:net";
import { MAX_PUSH_URL_LENGTH } from "../options.js";
import { plainName } from "./host-rules.js";

/** Where a notification goes. */
export interface Target {
  readonly url: URL;
  /** That of the URL. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Protocol, host and port: what limits and failures of a host are counted by. */
  readonly host: string;
}

/** What URLs may be like. */
export interface UrlRules {
  readonly allowHttp: boolean;
  readonly ports: ReadonlySet<number>;
}

/**
 * Reads a URL. What others might read in another way than we do is refused, however harmless it looks: the text is what is stored
 * and shown, and what is judged here has to be the same as what is connected to.
 *
 * @returns what is wrong with it, as half a sentence, where it is no target.
 */
export function readTarget(text: string, rules: UrlRules): Target | string {
  if (text.length > MAX_PUSH_URL_LENGTH) return `has more than ${MAX_PUSH_URL_LENGTH} characters`;
  const authority = /^https?:\/\/([^/?]+)/i.exec(text)?.[1];
  if (authority === undefined) return "is no absolute URL of https";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about.
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return "has spaces, control characters or backslashes";
  if (text.includes("#")) return "has a fragment";
  if (authority.includes("@")) return "has credentials in it";
  if (authority.includes("%")) return "has an encoded host";
  if (!URL.canParse(text)) return "is no absolute URL of https";
  const url = new URL(text);
  if (url.protocol !== "https:" && !rules.allowHttp) return "is not https";
  return hostFault(url, authority) ?? portFault(url, rules) ?? targetOf(url);
}

/** The target that a URL is. */
export function targetOf(url: URL): Target {
  // Each look at a part of a URL makes a string, and many notifications go to one.
  return { url, origin: url.origin, path: url.pathname + url.search, host: hostKey(url) };
}

function hostFault(url: URL, authority: string): string | undefined {
  const { hostname } = url;
  if (hostname.startsWith("[")) return undefined;
  if (isIP(hostname) !== 0) {
    // 0x7f.1, 2130706433 and 127.1 are 127.0.0.1 to some.
    const written = authority.replace(/:\d*$/, "");
    return written === hostname ? undefined : `writes the address ${hostname} in another way`;
  }
  const name = plainName(hostname);
  if (name === undefined) return "has no valid host name";
  url.hostname = name;
  return undefined;
}

function portFault(url: URL, { ports }: UrlRules): string | undefined {
  return ports.has(portOf(url)) ? undefined : "has a port that is not allowed";
}

function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}

function hostKey(url: URL): string {
  return `${url.protocol}//${url.hostname}:${portOf(url)}`;
}
