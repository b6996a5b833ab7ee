import { clone } from "@bufbuild/protobuf";
import type { JSONWebKeySet } from "jose";
import { type AgentCard, AgentCardSchema, type AgentCardSignature } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Audit } from "../../audit/audit.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { membersOfCard } from "./canonical.js";
import { type CardKey, importCardKeys, publicKeySet, type SigningKey } from "./card-keys.js";
import { hasEmptyValues, signaturesOver } from "./sign.js";

/** Options for signing the cards of all agents of a server (specification 8.4). */
export interface CardSigning {
  /**
   * Private keys, each of which adds a signature; at most 8. To rotate a key, serve with the old and the new one until
   * every reader knows the new one, then with the new one alone.
   */
  readonly keys: readonly CardKey[];
  /**
   * URL of the JWKS with the public keys, which signatures name. Default: this server's `/.well-known/jwks.json`, if
   * its URL is `https`. False: signatures name no URL.
   */
  readonly jku?: string | false;
  /**
   * Serves the public keys of all agents of this server at `/.well-known/jwks.json`. Default true. Use false if another
   * application has that path.
   */
  readonly jwks?: boolean;
  /**
   * Adds a second signature for each key if a card has empty values, such as a security requirement without scopes:
   * several libraries omit these before they verify, against section 8.4.1, and would find no matching signature. The
   * second signature does not protect the empty values. Default false.
   */
  readonly alsoWithoutEmpty?: boolean;
}

/** Maximum number of signed cards in memory; extended cards may differ by caller. */
export const signedCards = { max: 256 } as const;

/** Parameters of a signer. */
interface SignerOptions {
  readonly signing: CardSigning;
  /** Returns the URL of the server's JWKS, or undefined if it is not known when a card is signed. */
  readonly ownJku: () => string | undefined;
  /** Records each signature. */
  readonly audit?: Audit | undefined;
}

/**
 * Signs the cards of a server: each content once, because ES256 signatures differ each time and a card has to keep its
 * `ETag`. Loads its dependencies when the first card is signed.
 */
export class CardSigner {
  readonly #options: SignerOptions;
  /** By the JSON of the card, the most recently used last. */
  readonly #kept = new Map<string, Promise<readonly AgentCardSignature[]>>();
  /** Signatures of the public cards, for synchronous callers. */
  readonly #ready = new Map<string, readonly AgentCardSignature[]>();
  #keys: Promise<readonly SigningKey[]> | undefined;

  constructor(options: SignerOptions) {
    this.#options = options;
  }

  /** @throws ConfigurationError for keys that cannot be used. */
  #keysOnce(): Promise<readonly SigningKey[]> {
    this.#keys ??= importCardKeys("cardSigning.keys", this.#options.signing.keys);
    return this.#keys;
  }

  /** Returns a signed copy of the card. @throws ConfigurationError for keys that cannot be used. */
  async sign(card: AgentCard): Promise<AgentCard> {
    return withSignatures(card, await this.#signatures(jsonWriter(AgentCardSchema)(card), card));
  }

  /**
   * Returns the text of a card in the shape of another version, with signatures over these unchanged documents.
   *
   * @throws ConfigurationError for keys that cannot be used.
   */
  async signText(
    card: Readonly<Record<string, unknown>>,
    documents: readonly Readonly<Record<string, unknown>>[],
  ): Promise<string> {
    const text = JSON.stringify(card);
    const made = await this.#once(text, () => this.#make(documents, String(card.name)));
    const signatures = made.map(({ protected: head, signature }) => ({ protected: head, signature }));
    return JSON.stringify({ ...card, signatures });
  }

  #signatures(json: string, card: AgentCard): Promise<readonly AgentCardSignature[]> {
    return this.#once(json, () => this.#make([membersOfCard(card).known], card.name));
  }

  /** Returns the earlier result for a text, or creates it. */
  #once(json: string, make: () => Promise<readonly AgentCardSignature[]>): Promise<readonly AgentCardSignature[]> {
    const known = this.#kept.get(json);
    this.#kept.delete(json);
    const signatures = known ?? make();
    this.#kept.set(json, signatures);
    if (known === undefined) {
      const oldest = this.#kept.keys().next();
      if (this.#kept.size > signedCards.max && !oldest.done) this.#kept.delete(oldest.value);
      // The next caller retries after a failure.
      signatures.catch(() => this.#kept.delete(json));
    }
    return signatures;
  }

  async #make(
    documents: readonly Readonly<Record<string, unknown>>[],
    name: string,
  ): Promise<readonly AgentCardSignature[]> {
    const { signing, ownJku, audit } = this.#options;
    const jku = signing.jku === false ? undefined : (signing.jku ?? ownJku());
    const keys = await this.#keysOnce();
    const signatures = await signaturesOver(documents, keys, { jku, alsoWithoutEmpty: signing.alsoWithoutEmpty });
    for (const { kid } of keys) audit?.record({ event: "key.used", use: "card", key: kid, target: name });
    return signatures;
  }

  /**
   * Signs public cards before the first request, for `signedNow`.
   *
   * @returns names of the cards whose signature some libraries cannot verify, because of their empty values.
   * @throws ConfigurationError for keys that cannot be used.
   */
  async prepare(cards: readonly AgentCard[]): Promise<readonly string[]> {
    const doubtful: string[] = [];
    for (const card of cards) {
      const json = jsonWriter(AgentCardSchema)(card);
      this.#ready.set(json, await this.#signatures(json, card));
      if (this.#options.signing.alsoWithoutEmpty !== true && (await hasEmptyValues(card))) doubtful.push(card.name);
    }
    return doubtful;
  }

  /** Returns the card with the signatures that `prepare` made, or the card itself without them. */
  signedNow(card: AgentCard): AgentCard {
    const signatures = this.#ready.get(jsonWriter(AgentCardSchema)(card));
    return signatures === undefined ? card : withSignatures(card, signatures);
  }

  /** The public keys. @throws ConfigurationError for keys that cannot be used. */
  async publicKeys(): Promise<JSONWebKeySet> {
    return publicKeySet(await this.#keysOnce());
  }
}

function withSignatures(card: AgentCard, signatures: readonly AgentCardSignature[]): AgentCard {
  const signed = clone(AgentCardSchema, card);
  signed.signatures = [...signatures];
  return signed;
}
