import { createVerifier, TokenFault, type Verified, type VerifierOptions } from "../jwt/verifier.js";
import { Refusal, type SchemeParts } from "./scheme.js";

/** Verifies tokens of one issuer; faults are reported to the client. */
export function tokenVerifier(
  options: VerifierOptions,
  parts: SchemeParts,
): (token: string) => Promise<Verified | Refusal> {
  const verify = createVerifier(options, parts);
  return async (token) => {
    const verified = await verify(token);
    return verified instanceof TokenFault ? new Refusal(verified.description) : verified;
  };
}
