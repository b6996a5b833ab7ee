/** Who calls, as the authenticator found out. */
export interface Caller {
  /** Owner of what the caller creates; tasks of other owners do not exist for it. Empty for the anonymous caller. */
  readonly owner: string;
  /** False for the anonymous caller. */
  readonly authenticated: boolean;
  /** Scopes or roles granted to the caller, for the agent's own decisions. */
  readonly scopes: readonly string[];
  /** Further facts for the agent, such as verified token claims. Never stored, never logged. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What an authenticator has to say of a caller. Left out: `authenticated` true, no scopes, no claims. */
export type CallerInput = Pick<Caller, "owner"> & Partial<Omit<Caller, "owner">>;

/** The caller of a server without an authenticator. */
export const anonymous: Caller = Object.freeze({
  owner: "",
  authenticated: false,
  scopes: Object.freeze([]),
  claims: Object.freeze({}),
});
