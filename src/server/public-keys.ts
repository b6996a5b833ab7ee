import { ConfigurationError } from "../card/faults.js";
import type { CardSigner } from "../card/signing/kept-signatures.js";
import { lazyImport } from "../core/lazy.js";
import { membersOf } from "../core/members.js";
import type { PushSigner } from "../push/signature/signer.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";

/** A set of public keys (RFC 7517, 5). */
interface PublicKeys {
  readonly keys: readonly object[];
}

/**
 * Returns a function that creates the signer of notifications on its first call; undefined if none are sent. Its
 * promise fails with a ConfigurationError for keys that cannot be used.
 */
export function pushSignerOf(
  { push, makesPushKey }: Settings,
  address: PublicAddress,
): (() => Promise<PushSigner>) | undefined {
  if (push === undefined) return undefined;
  return lazyImport(async () => {
    const { createPushSigner } = await import("../push/signature/signer.js");
    return createPushSigner({ signing: push.signing, issuer: () => address.url(), makesKey: makesPushKey });
  });
}

/** The served public keys, of cards and notifications together. */
export interface PublicKeySource {
  /**
   * Reads the keys of the options, to check them at the start.
   *
   * @throws ConfigurationError
   */
  given(): Promise<PublicKeys>;
  /** Reads the keys of the options and those that the process created. */
  all(): Promise<PublicKeys>;
}

/** Returns the source of all public keys; undefined if the server serves none. */
export function publicKeysOf(
  { cardSigning, push, makesPushKey }: Settings,
  cards: CardSigner | undefined,
  pushSigner: (() => Promise<PushSigner>) | undefined,
): PublicKeySource | undefined {
  const sources: ((isStart: boolean) => Promise<PublicKeys>)[] = [];
  if (cards !== undefined && cardSigning?.jwks !== false) sources.push(() => cards.publicKeys());
  const showsPushKeys = makesPushKey || (push?.signing?.keys !== undefined && push.signing.jwks !== false);
  if (pushSigner !== undefined && showsPushKeys) {
    sources.push(async (isStart) => {
      const signer = await pushSigner();
      return isStart ? signer.jwks() : signer.allKeys();
    });
  }
  if (sources.length === 0) return undefined;
  const read = async (isStart: boolean): Promise<PublicKeys> =>
    mergeKeySets(await Promise.all(sources.map((source) => source(isStart))));
  return { given: () => read(true), all: () => read(false) };
}

/**
 * Joins key sets. Readers find a key by its `kid`, so equal keys are served once and different keys must not share one.
 */
function mergeKeySets(sets: readonly PublicKeys[]): PublicKeys {
  const byId = new Map<unknown, object>();
  for (const key of sets.flatMap(({ keys }) => keys)) {
    const { kid } = membersOf(key);
    const known = byId.get(kid);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(key)) {
      const fault = `cardSigning.keys and push.signing.keys have the kid ${JSON.stringify(kid)} for two different keys`;
      throw new ConfigurationError("Invalid keys", [fault]);
    }
    byId.set(kid, key);
  }
  return { keys: [...byId.values()] };
}
