import { ConfigurationError } from "../card/faults.js";
import type { CardSigner } from "../card/signing/signer.js";
import type { PushSigner } from "../push/signature/signer.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";

/** A set of public keys (RFC 7517, 5). */
export interface PublicKeys {
  readonly keys: readonly object[];
}

/**
 * What signs notifications, made when it is first asked for; undefined where none are sent.
 *
 * The promise fails with a ConfigurationError for keys that cannot be used.
 */
export function pushSignerOf(
  { push, limits }: Settings,
  address: PublicAddress,
): (() => Promise<PushSigner>) | undefined {
  if (push === undefined) return undefined;
  let made: Promise<PushSigner> | undefined;
  const make = async (): Promise<PushSigner> => {
    const { createPushSigner } = await import("../push/signature/signer.js");
    return createPushSigner({ signing: push.signing, issuer: () => address.url(), limits });
  };
  return () => {
    made ??= make();
    return made;
  };
}

/** The keys that are shown to everybody, those of cards and of notifications together; undefined where there are none. */
export function publicKeysOf(
  { cardSigning, push }: Settings,
  cards: CardSigner | undefined,
  pushSigner: (() => Promise<PushSigner>) | undefined,
): (() => Promise<PublicKeys>) | undefined {
  const sources: (() => Promise<PublicKeys>)[] = [];
  if (cards !== undefined && cardSigning?.jwks !== false) sources.push(() => cards.publicKeys());
  if (pushSigner !== undefined && push?.signing?.keys !== undefined && push.signing.jwks !== false) {
    sources.push(async () => (await pushSigner()).jwks());
  }
  if (sources.length === 0) return undefined;
  return async () => joined(await Promise.all(sources.map((source) => source())));
}

/** A reader finds a key by its `kid`: two keys must not have the same one, and one key is shown once. */
function joined(sets: readonly PublicKeys[]): PublicKeys {
  const byId = new Map<unknown, object>();
  for (const key of sets.flatMap(({ keys }) => keys)) {
    const { kid } = key as { readonly kid?: unknown };
    const known = byId.get(kid);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(key)) {
      const fault = `cardSigning.keys and push.signing.keys have the kid ${JSON.stringify(kid)} for two different keys`;
      throw new ConfigurationError("Invalid keys", [fault]);
    }
    byId.set(kid, key);
  }
  return { keys: [...byId.values()] };
}
