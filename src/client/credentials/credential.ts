import type { AgentCard, SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { membersOf } from "../../core/members.js";
import type { HttpClient } from "../platform.js";

/** Receives a credential's value. */
export interface CredentialTarget {
  readonly header: Headers;
  /** Adds a parameter to the URL: API keys with `in: query` (HTTP bindings only, not gRPC). */
  addQuery(name: string, value: string): void;
}

/** Context of applying a credential, one object for each scheme and call. */
export interface CredentialContext {
  readonly card: AgentCard;
  /** Name of the scheme in the card. */
  readonly name: string;
  readonly scheme: SecurityScheme;
  /** Scopes that the requirement lists. */
  readonly scopes: readonly string[];
  /** URL of the called interface, with `https:` or `http:`. Secrets go nowhere else. */
  readonly url: string;
  readonly http: HttpClient;
  readonly signal: AbortSignal | undefined;
}

/** A credential for one security scheme of a card (specification 4.5, 7.3), such as `bearer` returns. */
export interface Credential {
  /** True if it can satisfy a scheme of this kind. */
  fits(scheme: SecurityScheme): boolean;
  /** Adds the credential to a call. Called for each call, so cache slow results. @throws A2AError UNAUTHENTICATED */
  apply(target: CredentialTarget, context: CredentialContext): void | Promise<void>;
  /**
   * Called after the server answered UNAUTHENTICATED. Returns true if the next `apply` will add another value, so that
   * a retry makes sense. Default: never.
   */
  refused?(context: CredentialContext): boolean | Promise<boolean>;
  /**
   * Called after the server answered PERMISSION_DENIED because these scopes are missing (RFC 6750, 3.1:
   * `insufficient_scope`). Returns true if the next `apply` will add a value that has them. Default: never.
   */
  insufficient?(context: CredentialContext, scopes: readonly string[]): boolean | Promise<boolean>;
}

/** One credential, a list whose first match is used, or a record by scheme name of the card. */
export type Credentials = Credential | readonly Credential[] | Readonly<Record<string, Credential>>;

/** Separates credentials by scheme name from those without one. */
export function separated(credentials: Credentials = []): {
  readonly named: Readonly<Record<string, Credential>>;
  readonly unnamed: readonly Credential[];
} {
  if (Array.isArray(credentials)) return { named: {}, unnamed: credentials };
  // A record may contain the names `fits` and `apply`.
  const isOne = typeof membersOf(credentials).fits === "function";
  if (isOne) return { named: {}, unnamed: [credentials as Credential] };
  return { named: credentials as Readonly<Record<string, Credential>>, unnamed: [] };
}
