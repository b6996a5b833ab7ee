import { checkRole, credentialsCheck, type OperatorAccess } from "../admin/access.js";
import type { Operator, Role } from "../admin/methods.js";
import { type Audit, type AuditFacts, auditOf, silentAudit } from "../audit/audit.js";
import { httpBearerScheme } from "../auth/http-bearer.js";
import type { SecurityScheme } from "../auth/scheme.js";
import { Call, type Peer } from "../core/call.js";
import { A2AError, toA2AError } from "../core/error.js";
import { requestFacts } from "../core/log.js";
import type { HttpRequest } from "../http/request.js";
import { type HttpResponse, isSource } from "../http/response.js";
import type { LinkToken } from "./link-token.js";
import { type Session, Sessions } from "./sessions.js";
import { WatchedBody } from "./watched-body.js";

/** The answer to requests whose session has just ended. */
const ENDED = "The session has ended: log in again.";

/** Ways to begin a session: a one-time token, or the credentials of an operator. */
export type Login = "token" | "admin";

/** The operator of a session that a one-time link began. */
const OF_LINK = "console";

/** Returns the security scheme of one-time tokens, for an `AdminAccess` that counts and audits failed attempts. */
export function linkScheme(link: LinkToken): SecurityScheme {
  return httpBearerScheme({
    check: (token) => (link.take(token) ? { owner: OF_LINK, scopes: ["read", "write"] } : undefined),
  });
}

/** Checks of a console, by the way that they belong to. */
export type LoginChecks = Readonly<Partial<Record<Login, OperatorAccess>>>;

interface AccessParts {
  readonly checks: LoginChecks;
  readonly peerOf: PeerOf;
  /** Audit log of the operator's service. */
  readonly audit?: Audit;
}

/** Returns the client of a request or a call, even if a trusted proxy forwards it. */
export type PeerOf = (from: Pick<HttpRequest, "header" | "peer">) => Peer;

/** Sessions of operators, and the operator of each call in one. */
export class ConsoleAccess implements OperatorAccess {
  readonly #sessions = new Sessions((id) => {
    for (const listener of this.#onEnd) listener(id);
  });
  readonly #onEnd: ((id: string) => void)[] = [];
  readonly #checks: LoginChecks;
  readonly #peerOf: PeerOf;
  readonly #audit: Audit;

  constructor({ checks, peerOf, audit = silentAudit }: AccessParts) {
    this.#checks = checks;
    this.#peerOf = peerOf;
    this.#audit = audit;
  }

  /** Calls a listener with the id of each session that ends. */
  onEnd(listener: (id: string) => void): void {
    this.#onEnd.push(listener);
  }

  get ways(): readonly Login[] {
    return (["token", "admin"] as const).filter((way) => this.#checks[way] !== undefined);
  }

  /**
   * Begins a session and returns the secret id of it.
   *
   * @param token a one-time token; undefined to use the credentials in the headers
   * @throws A2AError UNAUTHENTICATED, PERMISSION_DENIED or TOO_MANY_REQUESTS
   */
  async begin(request: HttpRequest, token: string | undefined): Promise<string> {
    const check = this.#checks[token === undefined ? "admin" : "token"];
    if (check === undefined) throw new A2AError("UNAUTHENTICATED", "This console has no such way to log in.");
    const credentials = token === undefined ? new Map<string, string | undefined>() : undefined;
    const header = (name: string): string | undefined => {
      if (token !== undefined) return name === "authorization" ? `Bearer ${token}` : undefined;
      const value = request.header(name);
      credentials?.set(name, value);
      return value;
    };
    const call = this.#callOf(request, header);
    try {
      const operator = await check.admit(call, "read");
      this.#record(request, call, { event: "admin.login", owner: operator.name });
      return this.#sessions.begin({ operator, credentials });
    } catch (error) {
      const note = auditOf(toA2AError(error));
      if (note !== undefined) this.#record(request, call, note);
      throw error;
    }
  }

  #record(request: HttpRequest, { binding, peer }: Call, facts: AuditFacts): void {
    this.#audit.record({ ...facts, binding, address: peer.address, ...requestFacts(request) });
  }

  /**
   * Returns the operator of the session that a request belongs to. Credentials that began it are checked again, so that
   * it ends with a token that was withdrawn.
   *
   * @throws A2AError UNAUTHENTICATED without a session
   */
  async operatorOf(request: HttpRequest | Call): Promise<Operator> {
    return (await this.sessionOf(request)).operator;
  }

  /** Returns the id of the session that a request belongs to, with its operator. See `operatorOf`. */
  async sessionOf(request: HttpRequest | Call): Promise<{ readonly id: string; readonly operator: Operator }> {
    const [id, session] = this.#sessions.find(request.header("cookie")) ?? [];
    if (id === undefined || session === undefined) {
      throw new A2AError("UNAUTHENTICATED", "The console needs a session: log in.");
    }
    return { id, operator: await this.#checked(id, session, request) };
  }

  /** True for the id of an open session, whose credentials are checked again. It does not count as used. */
  async isOpen(id: string, request: HttpRequest): Promise<boolean> {
    const session = this.#sessions.get(id);
    if (session === undefined) return false;
    try {
      await this.#checked(id, session, request);
      return true;
    } catch (error) {
      if (toA2AError(error).reason === "UNAUTHENTICATED") return false;
      throw error;
    }
  }

  async #checked(id: string, { operator, credentials }: Session, request: HttpRequest | Call): Promise<Operator> {
    const check = this.#checks.admin;
    if (credentials === undefined || check === undefined) return operator;
    try {
      // Guesses of others at the same address, or of the operator itself, must not prevent the check.
      const call = this.#callOf(request, (name) => credentials.get(name), "");
      return await check.admit(call, "read");
    } catch (cause) {
      const isRefused = cause instanceof A2AError && /^(UNAUTHENTICATED|PERMISSION_DENIED)$/.test(cause.reason);
      if (!isRefused) throw cause;
      this.#sessions.end(id);
      throw new A2AError("UNAUTHENTICATED", ENDED, { cause });
    }
  }

  /**
   * Answers a request in its session: when the session ends, the request and the calls that it waits for are aborted.
   *
   * @throws A2AError UNAUTHENTICATED without a session
   */
  async within(
    request: HttpRequest,
    answer: (operator: Operator) => Promise<HttpResponse> | HttpResponse,
  ): Promise<HttpResponse> {
    const [id, session] = this.#sessions.find(request.header("cookie")) ?? [];
    const operator = await this.operatorOf(request);
    if (id === undefined || session === undefined || session.isOver) throw new A2AError("UNAUTHENTICATED", ENDED);
    const forget = session.hold(request);
    // A refusal ends the session. Other errors say nothing about it.
    const check = (): void => void this.#checked(id, session, request).catch(() => {});
    const timer = session.credentials && setInterval(check, credentialsCheck.everyMs).unref();
    const done = (): void => {
      clearInterval(timer);
      forget();
    };
    try {
      const answered = await answer(operator);
      if (isSource(answered.body)) return { ...answered, body: new WatchedBody(answered.body, done) };
      done();
      return answered;
    } catch (error) {
      done();
      throw error;
    }
  }

  /** See OperatorAccess: the operator of the session that the cookie of a call names. */
  async admit(call: Call, role: Role): Promise<Operator> {
    call.peer = this.#peerOf(call);
    const operator = await this.operatorOf(call);
    // For the records of refusals.
    call.caller = { owner: operator.name, authenticated: true, scopes: [operator.role], claims: {} };
    return checkRole(operator, role);
  }

  end(request: HttpRequest): void {
    const [id] = this.#sessions.find(request.header("cookie")) ?? [];
    if (id !== undefined) this.#sessions.end(id);
  }

  #callOf(from: HttpRequest | Call, header: (name: string) => string | undefined, attemptsFrom?: string): Call {
    const { requestId, signal } = from;
    return new Call({ binding: "console", header, peer: this.#peerOf(from), attemptsFrom, requestId, signal });
  }
}
