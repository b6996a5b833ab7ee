import { randomBytes } from "node:crypto";
import type { Operator } from "../admin/methods.js";
import { callAll } from "../core/event-loop.js";
import type { HttpRequest } from "../http/request.js";

/** Sessions that a server keeps at once; the one that was not used for the longest time ends first. */
const MAX_SESSIONS = 64;

/** Time after which an unused session ends, in milliseconds. */
export const sessionIdle: { readonly timeoutMs: number } = { timeoutMs: 12 * 3_600_000 };

interface SessionStart {
  readonly operator: Operator;
  /** Headers with the credentials that began it, by lower-case name; undefined for one that a link began. */
  readonly credentials: ReadonlyMap<string, string | undefined> | undefined;
}

/** A session of one browser, with the requests that are being answered in it. */
export class Session {
  readonly operator: SessionStart["operator"];
  readonly credentials: SessionStart["credentials"];
  readonly #requests = new Set<HttpRequest>();
  #isOver = false;

  constructor({ operator, credentials }: SessionStart) {
    this.operator = operator;
    this.credentials = credentials;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Aborts a request if the session ends before the returned function is called. */
  hold(request: HttpRequest): () => void {
    this.#requests.add(request);
    return () => void this.#requests.delete(request);
  }

  /** Ends the session, and with it its streams and pending calls. */
  end(): void {
    this.#isOver = true;
    callAll([...this.#requests].map((request) => () => request.abort()));
  }
}

/** The open sessions of a console, in memory: they end with the process. */
export class Sessions {
  /** Least recently used first. */
  readonly #open = new Map<string, { readonly session: Session; readonly usedAt: number }>();
  /** Ends the sessions whose time is over, which may have streams. */
  #timer: NodeJS.Timeout | undefined;
  readonly #onEnd: (id: string) => void;

  /** @param onEnd called with the id of each session that ends */
  constructor(onEnd: (id: string) => void = () => {}) {
    this.#onEnd = onEnd;
  }

  /** Begins a session and returns its secret id. */
  begin(start: SessionStart): string {
    const id = randomBytes(32).toString("base64url");
    this.#open.set(id, { session: new Session(start), usedAt: performance.now() });
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MAX_SESSIONS) break;
      this.end(oldest);
    }
    this.#timer ??= setTimeout(this.#sweep, sessionIdle.timeoutMs).unref();
    return id;
  }

  readonly #sweep = (): void => {
    this.#timer = undefined;
    for (const [id, { usedAt }] of this.#open) {
      const leftMs = usedAt + sessionIdle.timeoutMs - performance.now();
      if (leftMs > 0) {
        this.#timer = setTimeout(this.#sweep, Math.ceil(leftMs)).unref();
        return;
      }
      this.end(id);
    }
  };

  /** Returns the id and the session that a `Cookie` header names, and counts it as used. */
  find(cookie: string | undefined): readonly [string, Session] | undefined {
    for (const id of idsIn(cookie)) {
      const session = this.get(id);
      if (session === undefined) continue;
      this.#open.delete(id);
      this.#open.set(id, { session, usedAt: performance.now() });
      return [id, session];
    }
    return undefined;
  }

  /** Returns a session by its id, without counting it as used. */
  get(id: string): Session | undefined {
    const found = this.#open.get(id);
    if (found === undefined) return undefined;
    if (performance.now() - found.usedAt <= sessionIdle.timeoutMs) return found.session;
    this.end(id);
    return undefined;
  }

  end(id: string): void {
    const found = this.#open.get(id);
    if (found === undefined) return;
    this.#open.delete(id);
    found.session.end();
    this.#onEnd(id);
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
