import type { AgentCard, SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { HttpClient } from "../platform.js";

/** Place where a credential puts its value. */
export interface CredentialTarget {
  readonly header: Headers;
  /** Adds a parameter to the URL: API keys with `in: query` (bindings over HTTP alone, not gRPC). */
  addQuery(name: string, value: string): void;
}

/** Context in which a credential is applied, one object for each scheme and call. */
export interface CredentialContext {
  readonly card: AgentCard;
  /** The name of the scheme in the card, and the scheme. */
  readonly name: string;
  readonly scheme: SecurityScheme;
  /** Scopes that the requirement asks for. */
  readonly scopes: readonly string[];
  /** URL of the interface that is called, with `https:` or `http:`: secrets go nowhere else. */
  readonly url: string;
  readonly http: HttpClient;
  readonly signal: AbortSignal | undefined;
}

/** A credential for one security scheme of a card (specification 4.5, 7.3), such as `bearer` returns. */
export interface Credential {
  /** Whether it can satisfy a scheme of this kind. */
  fits(scheme: SecurityScheme): boolean;
  /** Puts it onto a call. Called for each; what takes long is remembered. @throws A2AError with reason UNAUTHENTICATED */
  apply(target: CredentialTarget, context: CredentialContext): void | Promise<void>;
  /**
   * The server answered UNAUTHENTICATED to what `apply` put there. True when the next `apply` shows something else, and one more try
   * makes sense. Left out: never.
   */
  refused?(context: CredentialContext): boolean | Promise<boolean>;
  /**
   * The server answered PERMISSION_DENIED, since what `apply` put there lacks these scopes (RFC 6750, 3.1: `insufficient_scope`). True
   * when the next `apply` shows something that has them. Left out: never.
   */
  insufficient?(context: CredentialContext, scopes: readonly string[]): boolean | Promise<boolean>;
}

/** One credential, a list of which the first that fits is used, or one for each scheme by its name in the card. */
export type Credentials = Credential | readonly Credential[] | Readonly<Record<string, Credential>>;
