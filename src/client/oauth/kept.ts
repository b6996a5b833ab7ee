import { A2AError } from "../../core/error.js";
import type { Credential } from "../credentials/credential.js";
import { flowCredential } from "./flow-credential.js";
import type { OAuthOptions } from "./options.js";
import { TokenKeeper } from "./token-keeper.js";

/** Flows in which a user signs in. */
export type UserFlow = "authorizationCode" | "deviceCode";

/** Returns the error of a call that needs the user to sign in. */
const signInRequired = (): A2AError =>
  new A2AError("UNAUTHENTICATED", "A user has to sign in first.", { metadata: { signIn: "required" } });

/** Returns a keeper that uses and refreshes the tokens of earlier sign-ins. It does not start one. */
export function signedInKeeper(options: OAuthOptions, name: UserFlow): TokenKeeper {
  return new TokenKeeper(options, { name, isUnattended: false, obtain: () => Promise.reject(signInRequired()) });
}

/**
 * Credential: the tokens that a flow has stored before, refreshed when they expire. Without valid ones, calls fail as
 * UNAUTHENTICATED, with `signIn: "required"` in the error's metadata.
 */
export function signedIn(options: OAuthOptions, name: UserFlow): Credential {
  return flowCredential(signedInKeeper(options, name), name, options);
}
