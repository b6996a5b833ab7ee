import { notPromised } from "./async.js";
import { A2AError } from "./error.js";
import { isText } from "./members.js";

/** The caller of an operation, as the authenticator identified it. */
export interface Caller {
  /**
   * Owner of the tasks that the caller creates; tasks of other owners do not exist for it. Empty for the anonymous
   * caller.
   */
  readonly owner: string;
  /** False for the anonymous caller. */
  readonly authenticated: boolean;
  /** Scopes or roles granted to the caller, for the agent's own decisions. */
  readonly scopes: readonly string[];
  /** The name that the authentication gave the caller, if the server's `ownerOf` mapped it to another owner. */
  readonly subject?: string;
  /** Expiry of the credentials, in milliseconds since 1970; undefined if they do not expire. */
  readonly expiresAt?: number;
  /** Further facts for the agent, such as verified token claims. Never stored, never logged. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Result of an authenticator that accepts a caller. Defaults: `authenticated` true, no scopes, no claims. */
export type CallerInput = Pick<Caller, "owner"> & Partial<Omit<Caller, "owner">>;

/** The caller's token, for calls on its behalf. Logging it or converting it to JSON does not reveal the token. */
export class CallerToken {
  readonly #token: string;
  constructor(token: string) {
    this.#token = token;
  }

  /** Returns the token, without the word `Bearer`. */
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
 * Returns the owner of the caller's tasks, such as an organisation whose members share tasks. Undefined rejects the
 * caller. `caller.owner` is the name that the authentication gave it.
 */
export type OwnerOf = (caller: Caller) => string | undefined;

/** Maximum length of the name of a caller and of the owner of its tasks, in characters: room for a URL or a distinguished name. */
const MAX_OWNER_LENGTH = 1_024;

/**
 * Returns the caller with the owner that `ownerOf` assigns. Anonymous callers stay anonymous.
 *
 * @throws A2AError PERMISSION_DENIED if `ownerOf` returns no owner or an invalid name
 * @throws TypeError if the scopes are not an array of strings or the expiry is not a number
 */
export function withOwner(caller: Caller, ownerOf: OwnerOf | undefined): Caller {
  // A string also has includes(), which would match parts of it as scopes. Only strings can be stored with a message.
  if (!Array.isArray(caller.scopes) || !caller.scopes.every(isText)) {
    throw new TypeError("the scopes of a caller must be an array of strings");
  }
  const { authenticated, expiresAt } = caller;
  // Without a valid expiry a stream of this caller would never end with its credentials.
  if (expiresAt !== undefined && (typeof expiresAt !== "number" || Number.isNaN(expiresAt))) {
    throw new TypeError("expiresAt of a caller must be a time in milliseconds");
  }
  const owner: unknown = ownerOf === undefined || !authenticated ? caller.owner : notPromised(ownerOf(caller));
  // A function in plain JavaScript may return any value. The empty owner is reserved for anonymous callers. Ill-formed
  // Unicode cannot be stored, or is stored like another owner's name. Control characters can make a name look like
  // another one.
  const isOwner = isText(owner) && owner.length <= MAX_OWNER_LENGTH && owner.isWellFormed() && !/\p{Cc}/u.test(owner);
  if (!isOwner || (owner === "" && authenticated)) {
    throw new A2AError("PERMISSION_DENIED", "The caller is not permitted to use this server.");
  }
  return owner === caller.owner ? caller : { ...caller, owner, subject: caller.owner };
}
