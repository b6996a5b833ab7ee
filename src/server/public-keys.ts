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
  { push, makesPushKey }: Settings,
  address: PublicAddress,
): (() => Promise<PushSigner>) | undefined {
  if (push === undefined) return undefined;
  let made: Promise<PushSigner> | undefined;
  const make = async (): Promise<PushSigner> => {
    const { createPushSigner } = await import("../push/signature/signer.js");
    return createPushSigner({ signing: push.signing, issuer: () => address.url(), makesKey: makesPushKey });
  };
  return () => {
    made ??= make();
    return made;
  };
}

/** The keys that are shown to everybody, those of cards and of notifications together. */
export interface PublicKeySource {
  /**
   * Reads the keys of the options, which is the check of a start.
   *
   * @throws ConfigurationError
   */
  given(): Promise<PublicKeys>;
  /** The same with those that the process makes. */
  all(): Promise<PublicKeys>;
}

/** Finds all public keys; undefined where there are none. */
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
    joined(await Promise.all(sources.map((source) => source(isStart))));
  return { given: () => read(true), all: () => read(false) };
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
