// Signs agent cards and verifies their signatures (specification 8.4), without a server.

import { clone } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { aBoolean, assertOptions, judged, type OptionChecks } from "../core/options.js";
import { type CardKey, importCardKeys, publicKeySet } from "./signing/card-keys.js";
import { jkuFault } from "./signing/key-sets.js";
import { type SignOptions, signaturesFor } from "./signing/sign.js";

export type { CardAlgorithm } from "./signing/algorithms.js";
export { canonicalCard } from "./signing/canonical.js";
export { CardFormError, type CardInput } from "./signing/card-json.js";
export type { CardKey } from "./signing/card-keys.js";
export type { CardSigning } from "./signing/kept-signatures.js";
export type { SignOptions } from "./signing/sign.js";
export { CardKeyError, type PublicCardKey } from "./signing/trusted-keys.js";
export {
  type CardTrust,
  type CardVerification,
  type SignatureFault,
  type SignatureResult,
  verifyCard,
} from "./signing/verify.js";

const checks: OptionChecks<SignOptions> = { jku: judged(jkuFault), alsoWithoutEmpty: aBoolean() };

/**
 * Returns a copy of the card with one more signature for each key.
 *
 * @throws ConfigurationError for unusable keys; CardFormError if the input is not a card; TypeError for invalid options.
 */
export async function signCard(card: AgentCard, keys: readonly CardKey[], options?: SignOptions): Promise<AgentCard> {
  assertOptions("signCard(card, keys, options)", options, checks);
  const signed = clone(AgentCardSchema, card);
  signed.signatures.push(...(await signaturesFor(card, await importCardKeys("keys", keys), options)));
  return signed;
}

/**
 * Returns the public keys of private ones as a JWKS (RFC 7517, 5).
 *
 * @throws ConfigurationError for keys that cannot be used.
 */
export async function publicKeysOf(keys: readonly CardKey[]): Promise<{ readonly keys: readonly object[] }> {
  return publicKeySet(await importCardKeys("keys", keys));
}
