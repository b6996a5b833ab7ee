import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { jkuFault } from "../card/signing/key-sets.js";
import { protectedHeader, type SignatureResult, verifyCard } from "../card/signing/verify.js";
import { comparableHost } from "../client/hosts.js";
import type { CardCheck } from "./served-card.js";

/** Verifies the signatures of a card with the keys of its own host. Other keys are not fetched. */
export const signatureCheck: CardCheck = {
  name: "signatures",
  section: "8.4",
  requirement: "the signatures fit the card",
  mend: "sign the card as it is served, after its last change; card verify shows more",
  run: async ({ found }) => {
    const { text = "{}", card, url } = found;
    if (card.signatures.length === 0) return { skipped: "the card is not signed" };
    const jku = keySetsOf(card).filter((each) => url !== undefined && comparableHost(each) === comparableHost(url));
    const { signatures } = await verifyCard(text, { jku });
    // An unknown key says nothing about the signature.
    const wrong = signatures.filter(({ valid, fault }) => !valid && fault !== "no-key");
    if (wrong.length > 0) return { fault: wrong.map(describedSignature).join("; ") };
    if (signatures.some(({ valid }) => valid)) return undefined;
    return { skipped: "their keys are not on the host of the card: card verify --jku, --jwks or --key" };
  },
};

/** Returns the URLs of the key sets that a card's signatures name. */
export function keySetsOf({ signatures }: AgentCard): readonly string[] {
  const named = signatures.map(({ protected: head }) => protectedHeader(head)?.jku);
  const urls = named.filter((each) => typeof each === "string").filter((each) => jkuFault(each) === undefined);
  return [...new Set(urls)];
}

const describedSignature = ({ index, why }: SignatureResult): string => `signature ${index + 1}: ${why}`;
