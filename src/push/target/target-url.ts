import { isIP } from "node:net";
import { parseUrl } from "../../core/net.js";
import { webhookOrigin } from "../../wire/webhook.js";
import { MAX_PUSH_URL_LENGTH } from "../options.js";
import { plainName } from "./host-rules.js";

export interface Target {
  readonly url: URL;
  readonly origin: string;
  readonly path: string;
  /** Protocol, host and port: the key of limits and failures per host. */
  readonly host: string;
}

export interface UrlRules {
  readonly allowHttp: boolean;
  readonly ports: ReadonlySet<number>;
}

/**
 * Parses a URL. Rejects spellings that other programs might read differently: the stored text, the checked target and
 * the connected one have to be the same.
 *
 * @returns a rejection as half a sentence, if it is not a valid target.
 */
export function readTarget(text: string, rules: UrlRules): Target | string {
  if (text.length > MAX_PUSH_URL_LENGTH) return `has more than ${MAX_PUSH_URL_LENGTH} characters`;
  const authority = /^https?:\/\/([^/?]+)/i.exec(text)?.[1];
  if (authority === undefined) return "is not an absolute https URL";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression detects control characters.
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return "has spaces, control characters or backslashes";
  if (text.includes("#")) return "has a fragment";
  if (authority.includes("@")) return "has credentials in it";
  if (authority.includes("%")) return "has an encoded host";
  const url = parseUrl(text);
  if (url === undefined) return "is not an absolute https URL";
  if (url.protocol !== "https:" && !rules.allowHttp) return "is not https";
  return hostFault(url, authority) ?? portFault(url, rules) ?? targetOf(url);
}

export function targetOf(url: URL): Target {
  // Computed once, because each property of a URL creates a string and many notifications share a target.
  return { url, origin: url.origin, path: url.pathname + url.search, host: webhookOrigin(url) };
}

function hostFault(url: URL, authority: string): string | undefined {
  const { hostname } = url;
  if (hostname.startsWith("[")) return undefined;
  if (isIP(hostname) !== 0) {
    // Some programs read 0x7f.1, 2130706433 and 127.1 as 127.0.0.1.
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
