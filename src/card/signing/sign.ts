import { create } from "@bufbuild/protobuf";
import type { AgentCardSignature } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { AgentCardSignatureSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { utf8Of } from "../../core/bytes.js";
import { canonicalText, membersOfCard, withoutEmpty } from "./canonical.js";
import type { CardInput } from "./card-json.js";
import type { SigningKey } from "./card-keys.js";

/** Options of `signCard`. */
export interface SignOptions {
  /** URL of the JWKS with the public keys, for the protected header (RFC 7515, 4.1.2). Default: none is named. */
  readonly jku?: string | undefined;
  /**
   * Adds a second signature for each key if the card has empty values, over the card without them: several libraries
   * omit them before they verify, against section 8.4.1, and would find no matching signature. That signature does not
   * protect empty values, such as a security requirement without scopes. Default false.
   */
  readonly alsoWithoutEmpty?: boolean | undefined;
}

/**
 * Signs a card with each key, in their order (specification 8.4.2). Neither changes the card nor reads its existing
 * signatures.
 *
 * @throws CardFormError if the input is not a card.
 */
export function signaturesFor(
  card: CardInput,
  keys: readonly SigningKey[],
  options?: SignOptions,
): Promise<AgentCardSignature[]> {
  return signaturesOver([membersOfCard(card).known], keys, options);
}

/** Signs unchanged documents: each distinct text with each key. */
export async function signaturesOver(
  documents: readonly Readonly<Record<string, unknown>>[],
  keys: readonly SigningKey[],
  { jku, alsoWithoutEmpty = false }: SignOptions = {},
): Promise<AgentCardSignature[]> {
  const signed = alsoWithoutEmpty ? [...documents, ...documents.map(withoutEmpty)] : documents;
  const payloads = new Set(await Promise.all(signed.map(canonicalText)));
  return Promise.all([...payloads].flatMap((payload) => keys.map((key) => signature(payload, key, jku))));
}

/** True if a card has empty values, which some libraries omit before they verify. */
export async function hasEmptyValues(card: CardInput): Promise<boolean> {
  const { known } = membersOfCard(card);
  return (await canonicalText(known)) !== (await canonicalText(withoutEmpty(known)));
}

async function signature(payload: string, { key, alg, kid }: SigningKey, jku?: string): Promise<AgentCardSignature> {
  const { FlattenedSign } = await import("jose");
  const header = { alg, typ: "JOSE", kid, ...(jku !== undefined && { jku }) };
  const { protected: head = "", signature } = await new FlattenedSign(utf8Of(payload))
    .setProtectedHeader(header)
    .sign(key);
  return create(AgentCardSignatureSchema, { protected: head, signature });
}
