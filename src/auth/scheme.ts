import { isPromiseLike } from "../core/async.js";
import type { Call, CallerInput } from "../core/call.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { ChecksUnderWay } from "./checks-under-way.js";
import type { SecuritySchemeInput } from "./scheme-card.js";

/**
 * A security scheme: its card form and its check. `jwtScheme`, `oauth2Scheme`, `openIdConnectScheme`, `mutualTlsScheme`, `apiKeyScheme`,
 * `httpBearerScheme`, `httpBasicScheme` and `customScheme` make one. The same value may serve several agents. Specification 4.5.1, 7.4.
 */
export interface SecurityScheme {
  /** The scheme on cards, as in the specification's JSON. */
  readonly card: SecuritySchemeInput;
  /** The challenge in `WWW-Authenticate`; its realm defaults to the scheme's name in the declaration. */
  readonly challenge: Challenge;
  /** The source of its callers' names. Left out if a function of the author makes them. */
  readonly names?: CallerNames;
  /** Issuer of its tokens, for the metadata of the protected resource (RFC 9728). */
  readonly authorizationServer?: string;
  /** Faults of its options, as sentences without a full stop. */
  readonly faults: readonly string[];
  /** Makes its check for one server. It opens no resource that would have to be closed. */
  open(parts: SchemeParts): SchemeCheck;
}

/** The source of a scheme's names. Two sources may give two callers one name. */
export interface CallerNames {
  /** The issuer that gives the names, unless the author does. */
  readonly issuer?: string;
  /** Returns true if the issuer may give this name. Default: any name. */
  readonly mayGive?: (name: string) => boolean;
  /** All names, if the author lists them. */
  readonly listed?: readonly string[];
}

/** Parts of the server that a security scheme may use. */
export interface SchemeParts {
  readonly limits: Limits;
  readonly logger: Logger;
  /** Limits concurrent checks per address: for schemes with `takesTurns`. */
  readonly underWay?: ChecksUnderWay;
}

/** Maximum length of a credential (token, key, name with password) in characters; a longer one is refused unread. */
export const MAX_CREDENTIAL_LENGTH = 8_192;

/** Result of a security scheme: a caller, refused credentials, or undefined if the call has none of this scheme. */
export type Finding = CallerInput | Refusal | undefined;

/** Checks the credentials of one scheme in calls. */
export interface SchemeCheck {
  /** Checks one call, once. A thrown A2AError rejects the call as it is, any other error as an internal one. */
  check(call: Call): Finding | Promise<Finding>;
  /**
   * The caller of unguessable credentials that were verified recently, or undefined. The only check for an address that
   * has failed too often.
   */
  recall?(call: Call): CallerInput | undefined;
  /**
   * True if it limits its checks by `SchemeParts.underWay` itself, because it knows which calls share an answer.
   * Default false: each asynchronous check counts.
   */
  readonly takesTurns?: boolean;
}

type FoundCaller = CallerInput | undefined;

/** Rejected credentials. The text is sent to the client: it names the fault, and never the credentials. */
export class Refusal {
  readonly description: string;

  constructor(description: string) {
    this.description = description;
  }

  /** The caller, or this refusal if undefined. */
  unless(found: FoundCaller | Promise<FoundCaller>): CallerInput | Refusal | Promise<CallerInput | Refusal> {
    return isPromiseLike(found) ? Promise.resolve(found).then((caller) => caller ?? this) : (found ?? this);
  }
}

/** One challenge of `WWW-Authenticate` (RFC 9110, 11.6.1). */
export interface Challenge {
  /** Name of the scheme, such as `Bearer`. */
  readonly scheme: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** A challenge as text, with further parameters before its own. */
export function challengeText({ scheme, parameters }: Challenge, more: Readonly<Record<string, string>> = {}): string {
  const all = Object.entries({ ...more, ...parameters });
  if (all.length === 0) return scheme;
  return `${scheme} ${all.map(([name, value]) => `${name}=${quotedString(value)}`).join(", ")}`;
}

/** A quoted string of visible ASCII: metadata of gRPC and RFC 6750 allow no more. */
function quotedString(value: string): string {
  return `"${value.replace(/[^\x20-\x7e]/g, "?").replace(/["\\]/g, "\\$&")}"`;
}
