import { base64urlOf } from "./bytes.js";

/** Parts for programs that show or store notifications: the command `listen`, and the console. */

export function newToken(): string {
  return base64urlOf(crypto.getRandomValues(new Uint8Array(24)));
}

/** Headers of one connection, in lower case. */
export const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Headers of the notification itself. Repeated ones are joined, which the receiver then refuses where it matters. */
export function ownHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => !hopByHop.has(name));
  return Object.fromEntries(own.map(([name, value]) => [name, [value ?? ""].flat().join(", ")]));
}

/** Names of headers with credentials, which are neither shown nor stored. */
export const credentialHeader: RegExp =
  /^(?:authorization|cookie|proxy-authorization|set-cookie)$|token|secret|api[-_]?key/i;
