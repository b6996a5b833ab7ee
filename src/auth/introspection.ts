import type { Limits } from "../core/limits.js";
import { membersOf } from "../core/members.js";
import { anObjectOf, aSecret, type OptionCheck, type OptionChecks } from "../core/options.js";
import { IssuerStatus, issuerJson, issuerUnavailable, issuerUrlFaults } from "../jwt/issuer.js";
import type { Verified } from "../jwt/verifier.js";
import { IssuerRest } from "./issuer-rest.js";
import { Refusal, type SchemeParts } from "./scheme.js";

/** Endpoint at which an authorization server describes a token (RFC 7662). */
export interface Introspection {
  /** The introspection endpoint: https, except on this machine. */
  readonly url: string;
  /** Credentials of this server at the endpoint, sent as Basic authentication. */
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Further conditions for an active token. */
interface Introspected {
  readonly issuer: string;
  readonly audience: string | readonly string[];
  readonly introspection: Introspection;
}

/** Statuses that concern the request alone: bad, too large, not processable. */
const ofToken: ReadonlySet<number> = new Set([400, 413, 414, 422]);

/** Introspects each token at the authorization server, unless `IssuerRest` pauses it after failures. */
export function createIntrospector(
  { issuer, audience, introspection }: Introspected,
  parts: SchemeParts,
): (token: string, source: string) => Promise<Verified | Refusal> {
  const audiences = typeof audience === "string" ? [audience] : audience;
  const rest = new IssuerRest();
  return async (token, source) => {
    const waitMs = rest.waitMs(token, source);
    if (waitMs !== undefined) throw issuerUnavailable(undefined, Math.ceil(waitMs));
    let answer: Record<string, unknown>;
    try {
      answer = membersOf(await ask(introspection, token));
      if (typeof answer?.active !== "boolean")
        throw new Error(`${introspection.url} does not say whether it is active`);
    } catch (error) {
      // The issuer rejects this token, which any client can send: the tokens of other clients are still introspected.
      if (error instanceof IssuerStatus && ofToken.has(error.status)) return new Refusal("The token is not active.");
      if (rest.isOver) parts.logger.warn({ err: error }, "an issuer of tokens does not answer correctly");
      rest.failed(token, source, error);
      throw issuerUnavailable(error);
    }
    rest.answered(source, answer.active === true);
    return judge(answer, issuer, audiences, parts.limits);
  };
}

function ask({ url, clientId, clientSecret }: Introspection, token: string): Promise<unknown> {
  // RFC 6749, 2.3.1: both are form-encoded first.
  const credentials = [clientId, clientSecret].map((each) => encodeURIComponent(each)).join(":");
  return issuerJson(url, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
    body: new URLSearchParams({ token, token_type_hint: "access_token" }),
  });
}

function judge(
  answer: Record<string, unknown>,
  issuer: string,
  audiences: readonly string[],
  { credentialMemoryMs }: Limits,
): Verified | Refusal {
  const { active, exp, nbf, iss, aud } = answer;
  const now = Date.now() / 1000;
  if (active !== true) return new Refusal("The token is not active.");
  // RFC 7662, 2.2: numbers. A time of another type would count as absent.
  if (!isTime(exp) || !isTime(nbf)) return new Refusal("The token has a time that is not a number.");
  if (typeof exp === "number" && exp <= now) return new Refusal("The token has expired.");
  if (typeof nbf === "number" && nbf > now + 5) return new Refusal("The token is not valid yet.");
  if (iss !== undefined && iss !== issuer) return new Refusal("The token is of another issuer.");
  const named: unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!named.some((each) => typeof each === "string" && audiences.includes(each))) {
    return new Refusal("The token is for another audience.");
  }
  return { claims: answer, endsAt: typeof exp === "number" ? exp : now + credentialMemoryMs / 1000 };
}

const isTime = (value: unknown): boolean => value === undefined || value === null || Number.isFinite(value);

const checks: OptionChecks<Introspection> = { url: issuerUrlFaults, clientId: aSecret(), clientSecret: aSecret() };

/** Checks the options. */
export const introspectionFaults: OptionCheck = anObjectOf(checks, Object.keys(checks));
