import { randomBytes } from "node:crypto";
import type { Operator } from "../admin/methods.js";

/** Sessions that a server keeps at once; the one that was not used for the longest time ends first. */
const MAX_SESSIONS = 64;

/** Time after which an unused session ends, in milliseconds. */
export const sessionIdle: { readonly timeoutMs: number } = { timeoutMs: 12 * 3_600_000 };

/** A session of one browser. */
export interface Session {
  readonly operator: Operator;
  /** Headers with the credentials that began it, by lower-case name; undefined for one that a link began. */
  readonly credentials: ReadonlyMap<string, string | undefined> | undefined;
}

/** The open sessions of a console, in memory: they end with the process. */
export class Sessions {
  /** Least recently used first. */
  readonly #open = new Map<string, { readonly session: Session; readonly usedAt: number }>();

  /** Begins a session and returns its secret id. */
  begin(session: Session): string {
    const id = randomBytes(32).toString("base64url");
    this.#open.set(id, { session, usedAt: performance.now() });
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MAX_SESSIONS) break;
      this.#open.delete(oldest);
    }
    return id;
  }

  /** Returns the id and the session that a `Cookie` header names, and counts it as used. */
  find(cookie: string | undefined): readonly [string, Session] | undefined {
    for (const id of idsIn(cookie)) {
      const found = this.#open.get(id);
      if (found === undefined) continue;
      this.#open.delete(id);
      const now = performance.now();
      if (now - found.usedAt > sessionIdle.timeoutMs) continue;
      this.#open.set(id, { session: found.session, usedAt: now });
      return [id, found.session];
    }
    return undefined;
  }

  end(id: string): void {
    this.#open.delete(id);
  }
}

const PREFIX = "parley-console-";

/** Ids in the cookies of all consoles of a host, because browsers send cookies to every port. */
function idsIn(cookie = ""): string[] {
  return cookie
    .split(/[;,]/)
    .map((pair) => pair.trim())
    .flatMap((pair) => (pair.startsWith(PREFIX) ? [pair.slice(pair.indexOf("=") + 1)] : []));
}

/** The place of a console, as its browser sees it. */
export interface CookiePlace {
  readonly isSecure: boolean;
  /** Port of the console's origin. Consoles on other ports have other cookies. */
  readonly port: string;
  readonly path: string;
}

/** Returns a `Set-Cookie` header. @param id empty to remove the cookie */
export function sessionCookie(id: string, { isSecure, port, path }: CookiePlace): string {
  const parts = [`${PREFIX}${port}=${id}`, `Path=${path}`, "HttpOnly", "SameSite=Strict"];
  if (isSecure) parts.push("Secure");
  if (id === "") parts.push("Max-Age=0");
  return parts.join("; ");
}
