import { type Audit, forAudit, silentAudit } from "../audit/audit.js";
import { anonymous, type Call, type Caller, type CallerInput } from "../core/call.js";
import { A2AError } from "../core/error.js";
import { logFacts } from "../core/log.js";
import { defined, membersOf } from "../core/members.js";
import { ChecksUnderWay } from "./checks-under-way.js";
import {
  challengeText,
  type Finding,
  Refusal,
  type SchemeCheck,
  type SchemeParts,
  type SecurityScheme,
} from "./scheme.js";
import { type AgentSecurity, type Requirement, requirementOf, requirementsOf } from "./security.js";
import { Throttle, tooManyFailed } from "./throttle.js";

/** A scheme of a declaration, with its name there. */
interface NamedCheck {
  readonly name: string;
  readonly scheme: SecurityScheme;
  readonly check: SchemeCheck;
}

/** A scheme that has to be met, with the scopes that its caller needs. */
interface Part {
  readonly named: NamedCheck;
  readonly scopes: readonly string[];
}

/** State that the guards of one server share. */
interface Shared {
  readonly throttle: Throttle;
  readonly underWay: ChecksUnderWay;
  readonly audit: Audit;
  /** Calls whose wrong credentials were counted, so that the guard of a skill does not count them again. */
  readonly counted: WeakSet<Call>;
}

/** URL of the protected resource's metadata (RFC 9728) as the call's client can reach it; undefined without any. */
type ResourceMetadata = (call: Call) => string | undefined;

/**
 * Makes the guards of one server. They share failed attempts, and each scheme is opened once even if several agents use
 * it.
 */
export class Guards {
  readonly #parts: SchemeParts;
  readonly #shared: Shared;
  readonly #checks = new Map<SecurityScheme, SchemeCheck>();

  constructor(parts: SchemeParts, audit: Audit = silentAudit, throttle: Throttle = new Throttle(parts.limits)) {
    const underWay = new ChecksUnderWay(throttle);
    this.#parts = { ...parts, underWay };
    this.#shared = { throttle, underWay, audit, counted: new WeakSet() };
  }

  /** The guard of calls to an agent. */
  ofAgent(security: AgentSecurity, metadata: ResourceMetadata): Guard {
    return this.#guard(security, requirementsOf(security), metadata);
  }

  /** The guards of messages to the agent's skills, by skill id. */
  ofSkills(security: AgentSecurity, metadata: ResourceMetadata): ReadonlyMap<string, Guard> {
    const skills = Object.entries(security.skills ?? {});
    return new Map(
      skills.map(([id, { require }]) => [
        id,
        this.#guard(security, require.map(requirementOf), metadata, ` for the skill "${id}"`),
      ]),
    );
  }

  #guard(
    { schemes }: AgentSecurity,
    requirements: readonly Requirement[],
    metadata: ResourceMetadata,
    purpose?: string,
  ): Guard {
    const named = new Map(
      Object.entries(schemes).map(([name, scheme]) => [name, { name, scheme, check: this.#open(scheme) }]),
    );
    const parts = requirements.map((requirement) =>
      Object.entries(requirement).map(([name, scopes]) => ({ named: defined(named.get(name)), scopes })),
    );
    return new Guard(parts, this.#shared, metadata, purpose);
  }

  #open(scheme: SecurityScheme): SchemeCheck {
    let check = this.#checks.get(scheme);
    if (check === undefined) {
      check = scheme.open(this.#parts);
      this.#checks.set(scheme, check);
    }
    return check;
  }
}

/**
 * Admits calls that meet one of the requirements: all its schemes, with their scopes. Rejects others as UNAUTHENTICATED
 * with a challenge for each suitable scheme, as PERMISSION_DENIED if only scopes are missing (RFC 6750, 3.1), or as
 * TOO_MANY_REQUESTS if the address has failed too often. Slow checks are limited per address. Wrong credentials count
 * as a failed attempt and are audited even if the call also has good ones of another scheme.
 */
export class Guard {
  readonly #requirements: readonly (readonly Part[])[];
  readonly #shared: Shared;
  readonly #throttle: Throttle;
  readonly #underWay: ChecksUnderWay;
  readonly #resourceMetadata: ResourceMetadata;
  /** The error text for callers without credentials. */
  readonly #missing: string;
  /** Every scheme that a requirement names, once. */
  readonly #named: readonly NamedCheck[];
  /** True if callers without credentials are admitted. */
  readonly #isOpen: boolean;
  /** The scheme of the usual declaration: one requirement with one scheme. */
  readonly #only: Part | undefined;

  /** @param purpose of the credentials, after "are required", if not the agent. */
  constructor(
    requirements: readonly (readonly Part[])[],
    shared: Shared,
    resourceMetadata: ResourceMetadata,
    purpose = "",
  ) {
    this.#resourceMetadata = resourceMetadata;
    this.#missing = `Valid credentials are required${purpose}.`;
    this.#requirements = requirements.filter((parts) => parts.length > 0);
    this.#isOpen = this.#requirements.length < requirements.length;
    this.#shared = shared;
    this.#throttle = shared.throttle;
    this.#underWay = shared.underWay;
    this.#named = [...new Set(this.#requirements.flat().map(({ named }) => named))];
    const [first, ...others] = this.#requirements;
    this.#only = !this.#isOpen && others.length === 0 && first?.length === 1 ? first[0] : undefined;
  }

  /**
   * Returns the caller of a call, synchronously unless a check is asynchronous.
   *
   * @throws A2AError UNAUTHENTICATED, PERMISSION_DENIED or TOO_MANY_REQUESTS, or the error of a scheme.
   */
  admit(call: Call): Caller | Promise<Caller> {
    const retryAfterMs = this.#throttle.isCalm ? undefined : this.#throttle.retryAfterMs(call.attemptsFrom);
    if (retryAfterMs !== undefined) return this.#judge(call, this.#recalled(call), retryAfterMs);
    if (this.#underWay.isFull(call.attemptsFrom)) {
      const recalled = this.#recalled(call);
      if (this.#meeting(recalled) !== undefined) return this.#judge(call, recalled);
    }
    if (this.#only === undefined) return this.#admit(call);
    const { named, scopes } = this.#only;
    const found = this.#check(call, named);
    if (!(found instanceof Promise)) return this.#one(call, named, found, scopes);
    return found.then((finding) => this.#one(call, named, finding, scopes));
  }

  /** Checks one scheme. Slow checks are limited per address. */
  #check(call: Call, { check }: NamedCheck): Finding | Promise<Finding> {
    if (check.takesTurns === true) return check.check(call);
    const address = call.attemptsFrom;
    if (this.#underWay.isFull(address)) {
      return this.#underWay.inTurn(address, () => check.check(call), call.cancellation);
    }
    const found = check.check(call);
    return found instanceof Promise ? this.#underWay.count(address, found) : found;
  }

  #one(call: Call, named: NamedCheck, found: Finding, scopes: readonly string[]): Caller {
    if (isCaller(found) && hasScopes(found, scopes)) return callerOf(found);
    return this.#judge(call, new Map([[named, found]]));
  }

  async #admit(call: Call): Promise<Caller> {
    const findings = new Map<NamedCheck, Finding>();
    for (const parts of this.#requirements) {
      for (const { named } of parts) {
        if (!findings.has(named)) findings.set(named, await this.#check(call, named));
      }
      // Further requirements need not be checked.
      if (parts.every((part) => meets(part, findings))) break;
    }
    return this.#judge(call, findings);
  }

  /** Finds callers of recently verified credentials, without a check that an attacker could use for guessing. */
  #recalled(call: Call): Map<NamedCheck, Finding> {
    return new Map(this.#named.map((named) => [named, named.check.recall?.(call)]));
  }

  /** The first requirement that is met. */
  #meeting(findings: ReadonlyMap<NamedCheck, Finding>): readonly Part[] | undefined {
    return this.#requirements.find((parts) => parts.every((part) => meets(part, findings)));
  }

  #judge(call: Call, findings: ReadonlyMap<NamedCheck, Finding>, retryAfterMs?: number): Caller {
    const wrong = this.#countWrong(call, findings);
    const met = this.#meeting(findings);
    if (met !== undefined) {
      if (wrong !== undefined) this.#recordWrong(call, wrong);
      return merged(met.map(({ named }) => findings.get(named)).filter(isCaller));
    }
    if (retryAfterMs !== undefined) {
      throw tooManyFailed(retryAfterMs);
    }
    const all = [...findings.values()];
    if (this.#isOpen && all.every((finding) => finding === undefined)) return anonymous;
    const lacking = this.#requirements.find((parts) => parts.every(({ named }) => isCaller(findings.get(named))));
    if (lacking === undefined) throw this.#unknown(call, findings);
    if (wrong !== undefined) this.#recordWrong(call, wrong);
    throw denied(lacking, findings, (named) => this.#metadata(call, named));
  }

  /**
   * Counts wrong credentials as one failed attempt per call. Returns their scheme if this call was not counted before.
   */
  #countWrong(call: Call, findings: ReadonlyMap<NamedCheck, Finding>): NamedCheck | undefined {
    const wrong = wrongIn(findings);
    const { counted } = this.#shared;
    if (wrong === undefined || counted.has(call)) return undefined;
    counted.add(call);
    this.#throttle.fail(call.attemptsFrom);
    return wrong;
  }

  /**
   * Audits wrong credentials of a call that is not refused as UNAUTHENTICATED; for refused calls, the record of the
   * refusal has them.
   */
  #recordWrong(call: Call, { name }: NamedCheck): void {
    const { binding } = call;
    const { address } = call.peer;
    this.#shared.audit.record({
      event: "authentication.failed",
      reason: "refused",
      scheme: name,
      address,
      binding,
      ...logFacts({ requestId: call.requestId, traceParent: call.traceParent, agent: call.agent }),
    });
  }

  #unknown(call: Call, findings: ReadonlyMap<NamedCheck, Finding>): A2AError {
    const all = [...findings];
    const [, refusal] = all.find(([, finding]) => finding instanceof Refusal) ?? [];
    const wrong = wrongIn(findings);
    const description = refusal instanceof Refusal ? refusal.description : this.#missing;
    const headers = { "www-authenticate": this.#challenges(call, findings) };
    const note = wrong === undefined ? { reason: "missing" } : { reason: "refused", scheme: wrong.name };
    return forAudit(new A2AError("UNAUTHENTICATED", description, { headers }), note);
  }

  #challenges(call: Call, findings: ReadonlyMap<NamedCheck, Finding>): string {
    return this.#named
      .map((named) => {
        const part = this.#requirements.flat().find((each) => each.named === named);
        return challenge(named, part?.scopes ?? [], this.#metadata(call, named), findings.get(named));
      })
      .join(", ");
  }

  #metadata(call: Call, { scheme }: NamedCheck): string | undefined {
    return scheme.authorizationServer === undefined ? undefined : this.#resourceMetadata(call);
  }
}

/**
 * The `WWW-Authenticate` value for callers without credentials: one challenge for each scheme that a requirement names.
 */
export function challengeOf(security: AgentSecurity, resourceMetadata: () => string): string {
  const required = new Map(requirementsOf(security).flatMap((requirement) => Object.entries(requirement)));
  return [...required]
    .map(([name, scopes]) => {
      const scheme = defined(security.schemes[name]);
      const metadata = scheme.authorizationServer === undefined ? undefined : resourceMetadata();
      return challenge({ name, scheme }, scopes, metadata);
    })
    .join(", ");
}

/**
 * Returns one challenge. That for a bearer token has the required scopes and the error (RFC 6750, 3; RFC 9728, 5.1).
 */
function challenge(
  { name, scheme }: Pick<NamedCheck, "name" | "scheme">,
  scopes: readonly string[],
  metadata: string | undefined,
  finding?: Finding,
): string {
  if (scheme.challenge.scheme.toLowerCase() !== "bearer") return challengeText(scheme.challenge, { realm: name });
  return challengeText(scheme.challenge, {
    realm: name,
    ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    ...(finding instanceof Refusal && { error: "invalid_token", error_description: finding.description }),
    ...(metadata !== undefined && { resource_metadata: metadata }),
  });
}

/** Returns the first scheme whose credentials were sent but rejected. */
function wrongIn(findings: ReadonlyMap<NamedCheck, Finding>): NamedCheck | undefined {
  for (const [named, finding] of findings) if (finding !== undefined && !isCaller(finding)) return named;
  return undefined;
}

/** True if a scheme returned a caller with an owner. A scheme in plain JavaScript may return anything. */
function isCaller(found: unknown): found is CallerInput {
  if (typeof found !== "object" || found === null) return false;
  const { owner } = membersOf(found);
  return typeof owner === "string" && owner !== "";
}

function hasScopes({ scopes: granted = [] }: CallerInput, scopes: readonly string[]): boolean {
  // A string has includes() too, but a substring is not a scope.
  if (!Array.isArray(granted)) throw new TypeError("the scopes of a caller must be an array");
  return scopes.length === 0 || scopes.every((scope) => granted.includes(scope));
}

function meets({ named, scopes }: Part, findings: ReadonlyMap<NamedCheck, Finding>): boolean {
  const found = findings.get(named);
  return isCaller(found) && hasScopes(found, scopes);
}

/** Fills absent fields with defaults. */
function callerOf(found: CallerInput): Caller {
  const { owner, authenticated = true, scopes = [], claims = {}, expiresAt } = found;
  return found.scopes !== undefined && found.claims !== undefined && found.authenticated !== undefined
    ? (found as Caller)
    : { owner, authenticated, scopes, claims, ...(expiresAt !== undefined && { expiresAt }) };
}

/**
 * Merges the callers of several schemes: the first one's owner, and the scopes and claims of all. The first value of a
 * claim wins.
 */
function merged(found: readonly CallerInput[]): Caller {
  const first = defined(found[0]);
  if (found.length === 1) return callerOf(first);
  const scopes = [...new Set(found.flatMap((each) => each.scopes ?? []))];
  // Object.assign would make a claim with the name __proto__ the prototype.
  const claims = Object.fromEntries(found.flatMap((each) => Object.entries(each.claims ?? {})).reverse());
  const expiresAt = Math.min(...found.map((each) => each.expiresAt ?? Number.POSITIVE_INFINITY));
  return {
    owner: first.owner,
    authenticated: first.authenticated ?? true,
    scopes,
    claims,
    // An invalid time is rejected later.
    ...(expiresAt !== Number.POSITIVE_INFINITY && { expiresAt }),
  };
}

/** The error for a known caller that lacks scopes. It names them (RFC 6750, 3.1; specification 3.3.2). */
function denied(
  parts: readonly Part[],
  findings: ReadonlyMap<NamedCheck, Finding>,
  metadataOf: (named: NamedCheck) => string | undefined,
): A2AError {
  const lacking = parts.filter((part) => !meets(part, findings));
  const missing = [
    ...new Set(
      lacking.flatMap(({ named, scopes }) => {
        const found = findings.get(named);
        const granted = (isCaller(found) && found.scopes) || [];
        return scopes.filter((scope) => !granted.includes(scope));
      }),
    ),
  ].join(" ");
  const challenges = lacking.map(({ named, scopes }) => {
    const metadata = metadataOf(named);
    return challengeText(named.scheme.challenge, {
      realm: named.name,
      error: "insufficient_scope",
      scope: scopes.join(" "),
      ...(metadata !== undefined && { resource_metadata: metadata }),
    });
  });
  const refusal = new A2AError("PERMISSION_DENIED", `The caller lacks the scope ${missing}.`, {
    metadata: { scope: missing },
    headers: { "www-authenticate": challenges.join(", ") },
  });
  const named = parts[0]?.named;
  const found = named && findings.get(named);
  return forAudit(refusal, { scheme: named?.name, owner: isCaller(found) ? found.owner : undefined });
}
