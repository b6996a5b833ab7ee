/** Place of a NATS server, and the login. */
export interface NatsAddress {
  readonly servers: readonly string[];
  readonly isEncrypted: boolean;
  readonly login: { readonly user: string; readonly pass: string } | { readonly token: string } | Record<string, never>;
  readonly prefix: string | undefined;
}

/** Beginning of all subjects: words of letters, digits, `_` and `-`, separated by dots. */
const PREFIX = /^[\w-]+(?:\.[\w-]+)*$/;

/**
 * Reads `nats://user:password@host:4222,host2:4222?prefix=name`; `tls://` encrypts, and a user without a password is a
 * token. Undefined for anything else.
 */
export function natsAddress(url: string): NatsAddress | undefined {
  const parts = /^(nats|tls):\/\/(?:([^@/?]*)@)?([^@/?]+)\/?(?:\?prefix=([^&]*))?$/.exec(url);
  if (parts === null) return undefined;
  const [, scheme, login = "", hosts = "", prefix] = parts;
  if (prefix !== undefined && !isPrefix(prefix)) return undefined;
  const servers = hosts.split(",").filter((host) => host !== "");
  if (servers.length === 0) return undefined;
  try {
    return { servers, isEncrypted: scheme === "tls", login: loginOf(login), prefix };
  } catch {
    // A stray % in the login.
    return undefined;
  }
}

export function isPrefix(text: string): boolean {
  return PREFIX.test(text);
}

function loginOf(text: string): NatsAddress["login"] {
  if (text === "") return {};
  const [user = "", ...rest] = text.split(":");
  if (rest.length === 0) return { token: decodeURIComponent(user) };
  return { user: decodeURIComponent(user), pass: decodeURIComponent(rest.join(":")) };
}
