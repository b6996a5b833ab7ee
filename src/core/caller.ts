import { notPromised } from "./async.js";
import { A2AError } from "./error.js";

/** The caller of an operation, as the authenticator identified it. */
export interface Caller {
  /** Owner of what the caller creates; tasks of other owners do not exist for it. Empty for the anonymous caller. */
  readonly owner: string;
  /** False for the anonymous caller. */
  readonly authenticated: boolean;
  /** Scopes or roles granted to the caller, for the agent's own decisions. */
  readonly scopes: readonly string[];
  /** The name that the authentication gave the caller, where the server's `ownerOf` made another owner of it. */
  readonly subject?: string;
  /** When the credentials end, in milliseconds since 1970; undefined where they say no end. */
  readonly expiresAt?: number;
  /** Further facts for the agent, such as verified token claims. Never stored, never logged. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Result of an authenticator that accepts a caller. Left out: `authenticated` true, no scopes, no claims. */
export type CallerInput = Pick<Caller, "owner"> & Partial<Omit<Caller, "owner">>;

/**
 * The token that a caller has shown, for calls on its behalf. It shows itself to nobody who does not ask for it: not in a log line, not
 * in JSON.
 */
export class CallerToken {
  readonly #token: string;
  constructor(token: string) {
    this.#token = token;
  }

  /** The token itself, without the word `Bearer`. */
  reveal(): string {
    return this.#token;
  }
}

/** The caller of a server without an authenticator. */
export const anonymous: Caller = Object.freeze({
  owner: "",
  authenticated: false,
  scopes: Object.freeze([]),
  claims: Object.freeze({}),
});

/**
 * Returns the owner of what a caller creates, such as an organisation whose members share tasks; undefined refuses the
 * caller. `owner` is the name that the authentication gave it.
 */
export type OwnerOf = (caller: Caller) => string | undefined;

/** Maximum length of the name of a caller and of the owner of its tasks, in characters: room for a URL or a distinguished name. */
const MAX_OWNER_LENGTH = 1_024;

/**
 * A caller as the server's function says whose it is. Anonymous callers stay who they are: nobody.
 * @throws A2AError PERMISSION_DENIED where it belongs to nobody, or to a name that cannot be one
 * @throws TypeError for scopes that are no list of texts, and an end that is no time
 */
export function withOwner(caller: Caller, ownerOf: OwnerOf | undefined): Caller {
  // A text has includes() as well, and parts of it are no scopes. What is no text cannot be stored with a message.
  if (!Array.isArray(caller.scopes) || !caller.scopes.every(isText)) {
    throw new TypeError("the scopes of a caller are a list of texts");
  }
  const { authenticated, expiresAt } = caller;
  // A stream of such a caller would never end with its credentials.
  if (expiresAt !== undefined && (typeof expiresAt !== "number" || Number.isNaN(expiresAt))) {
    throw new TypeError("the end of a caller's credentials is a time in milliseconds");
  }
  const owner: unknown = ownerOf === undefined || !authenticated ? caller.owner : notPromised(ownerOf(caller));
  // A function in plain JavaScript may answer anything. The empty owner is that of anonymous callers. What is no Unicode has no form
  // in a store, or that of another owner; control characters let one name look like another wherever it is shown.
  const isOwner = isText(owner) && owner.length <= MAX_OWNER_LENGTH && owner.isWellFormed() && !/\p{Cc}/u.test(owner);
  if (!isOwner || (owner === "" && authenticated)) {
    throw new A2AError("PERMISSION_DENIED", "The caller has no place on this server.");
  }
  return owner === caller.owner ? caller : { ...caller, owner, subject: caller.owner };
}

const isText = (value: unknown): value is string => typeof value === "string";
