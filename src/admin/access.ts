import type { Audit } from "../audit/audit.js";
import { type Guard, Guards } from "../auth/guard.js";
import { httpBearerScheme } from "../auth/http-bearer.js";
import type { AgentSecurity } from "../auth/security.js";
import type { Throttle } from "../auth/throttle.js";
import { isPromiseLike } from "../core/async.js";
import type { Call, Caller } from "../core/call.js";
import { A2AError, toA2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import { inTime } from "../service/interceptors/authenticate.js";
import type { Operator, Role } from "./methods.js";
import type { AdminAccessOptions, AdminRoles } from "./options.js";
import { TokensFile, tokenLookup } from "./tokens.js";

interface AccessParts {
  readonly limits: Limits;
  readonly logger: Logger;
  readonly audit: Audit;
  /** Counts failed attempts. Default: those of this process. */
  readonly throttle?: Throttle;
}

export interface OperatorAccess {
  /**
   * Returns the operator of a call, synchronously unless a check is asynchronous, and sets the call's caller.
   *
   * @throws A2AError UNAUTHENTICATED, PERMISSION_DENIED if the role is missing, or TOO_MANY_REQUESTS
   */
  admit(call: Call, role: Role): Operator | Promise<Operator>;
  /** Checks the credentials of an open stream again. Undefined if its sessions are checked anyway. */
  readonly recheck?: (call: Call, role: Role) => Promise<void>;
}

/** Time between two checks of the credentials of an open stream, or of a console's session, in milliseconds. */
export const credentialsCheck: { readonly everyMs: number } = { everyMs: 30_000 };

/** The operator of a socket without tokens. The permissions of its file decide which users are this operator. */
const local: Operator = { name: "local", role: "write" };

/** Roles of tokens, whose scopes are the names of the roles. */
const ownRoles: AdminRoles = { read: "read", write: "write" };

/**
 * Identifies operators and their roles. Slows down guessing as the A2A protocol's ports do, but counts failed attempts
 * separately.
 */
export class AdminAccess implements OperatorAccess {
  readonly #guard: Guard | undefined;
  readonly #roles: AdminRoles;

  /** @throws Error for a tokens file that is invalid */
  constructor(options: AdminAccessOptions, { limits, logger, audit, throttle }: AccessParts) {
    const security = securityOf(options, logger);
    // An operator's service has no metadata as a protected resource.
    this.#guard = security && new Guards({ limits, logger }, audit, throttle).ofAgent(security, () => undefined);
    this.#roles = options.roles ?? ownRoles;
  }

  /** See OperatorAccess. */
  admit(call: Call, role: Role): Operator | Promise<Operator> {
    if (this.#guard === undefined) return local;
    const caller = this.#guard.admit(call);
    return isPromiseLike(caller)
      ? inTime(Promise.resolve(caller), call).then((known) => this.#operator(call, known, role))
      : this.#operator(call, caller, role);
  }

  /** Only an identity provider that cannot be reached, or is busy, lets the stream continue. @throws A2AError */
  async recheck(call: Call, role: Role): Promise<void> {
    // Guesses of others at the same address must not prevent the check, and it is none itself.
    call.attemptsFrom = "";
    try {
      await this.admit(call, role);
    } catch (error) {
      if (!/^(UNAVAILABLE|TOO_MANY_REQUESTS)$/.test(toA2AError(error).reason)) throw error;
    }
  }

  #operator(call: Call, caller: Caller, needed: Role): Operator {
    const { scopes, owner: name, authenticated } = caller;
    call.caller = caller;
    const has = (role: Role): boolean => authenticated && scopes.includes(this.#roles[role]);
    const role = has("write") ? "write" : has("read") ? "read" : undefined;
    if (role === undefined) throw lacksRole(needed);
    return checkRole({ name, role }, needed);
  }
}

/** Returns the operator. @throws A2AError PERMISSION_DENIED if the role is missing */
export function checkRole(operator: Operator, needed: Role): Operator {
  if (needed === "write" && operator.role === "read") throw lacksRole(needed);
  return operator;
}

function lacksRole(role: Role): A2AError {
  return new A2AError("PERMISSION_DENIED", `The operator lacks the role ${role}.`, { metadata: { role } });
}

function securityOf(
  { tokens, tokensFile, security }: AdminAccessOptions,
  logger: Logger,
): Pick<AgentSecurity, "schemes" | "require"> | undefined {
  if (security !== undefined) return security;
  if (tokensFile === undefined && tokens === undefined) return undefined;
  const file = tokensFile === undefined ? undefined : new TokensFile(tokensFile, logger);
  const ofList = tokenLookup(tokens ?? []);
  const check = file === undefined ? ofList : (token: string) => file.find(token);
  return { schemes: { admin: httpBearerScheme({ check }) } };
}
