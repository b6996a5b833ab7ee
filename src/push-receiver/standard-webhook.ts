import { fromBase64 } from "../core/bytes.js";
import { WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP, webhookKeyBytes, webhookPrefix } from "../wire/webhook.js";
import { areEqual, type Bytes, concatText, hmac, hmacKey, type WebKey } from "./bytes.js";
import { PushRefusal } from "./refusal.js";
import type { ReadRequest } from "./request.js";

/** Keys that verify signatures of Standard Webhooks. */
interface WebhookTrust {
  /** Returns the shared secrets for a token. */
  readonly secrets: ((token: string) => readonly string[] | Promise<readonly string[]>) | undefined;
  /** `whpk_…`. */
  readonly publicKeys: readonly string[];
}

/** The signed facts of a notification. */
interface SignedWebhook {
  readonly id: string;
  /** Seconds since 1970. */
  readonly seconds: number;
  readonly kind: "v1" | "v1a";
}

/** Maximum number of signatures of each kind that are verified per notification. */
const MAX_SIGNATURES = 8;

/** Verifies signatures of Standard Webhooks. Keys are imported once. */
export class WebhookVerifier {
  readonly #trust: WebhookTrust;
  #publicKeys: Promise<readonly WebKey[]> | undefined;

  constructor(trust: WebhookTrust) {
    this.#trust = trust;
  }

  /** True if any key is configured. */
  get isConfigured(): boolean {
    return this.#trust.secrets !== undefined || this.#trust.publicKeys.length > 0;
  }

  /**
   * Verifies the signatures of a notification. Returns undefined if it has none of a configured kind.
   *
   * @throws PushRefusal if none of its signatures is valid.
   */
  async verify({ header, body }: ReadRequest, token: string): Promise<SignedWebhook | undefined> {
    const { secrets, publicKeys } = this.#trust;
    const given = (header(WEBHOOK_SIGNATURE) ?? "").slice(0, MAX_LENGTH).split(" ");
    const byHmac = secrets === undefined ? [] : signaturesIn(given, "v1", 32);
    const byKey = publicKeys.length === 0 ? [] : signaturesIn(given, "v1a", 64);
    if (byHmac.length + byKey.length === 0) return undefined;
    const signed = signedHeaders(header);
    const text = concatText(webhookPrefix(signed.id, signed.seconds), body);
    if (byHmac.length > 0 && (await this.#fitsSecret(byHmac, text, token))) return { ...signed, kind: "v1" };
    if (byKey.length > 0 && (await this.#fitsKey(byKey, text))) return { ...signed, kind: "v1a" };
    throw new PushRefusal("signature", "No signature in webhook-signature fits.");
  }

  async #fitsSecret(signatures: readonly Bytes[], text: Bytes, token: string): Promise<boolean> {
    let fits = false;
    for (const secret of (await this.#trust.secrets?.(token)) ?? []) {
      const bytes = webhookKeyBytes("whsec_", secret);
      if (bytes === undefined || bytes.length === 0) throw new TypeError("A secret is not of the form whsec_.");
      const right = await hmac(await hmacKey(bytes), text);
      for (const each of signatures) fits = areEqual(each, right) || fits;
    }
    return fits;
  }

  async #fitsKey(signatures: readonly Bytes[], text: Bytes): Promise<boolean> {
    this.#publicKeys ??= Promise.all(this.#trust.publicKeys.map(importKey));
    for (const key of await this.#publicKeys) {
      for (const each of signatures) if (await crypto.subtle.verify("Ed25519", key, each, text)) return true;
    }
    return false;
  }
}

const importKey = (key: string): Promise<WebKey> =>
  crypto.subtle.importKey("raw", webhookKeyBytes("whpk_", key) as Bytes, "Ed25519", false, ["verify"]);

/** Maximum number of characters of the header that are read. */
const MAX_LENGTH = 8 * 1024;

function signaturesIn(given: readonly string[], version: string, bytes: number): Bytes[] {
  const texts = given.flatMap((each) => (each.startsWith(`${version},`) ? [each.slice(version.length + 1)] : []));
  const length = Math.ceil(bytes / 3) * 4;
  const form = /^[A-Za-z0-9+/]+={0,2}$/;
  // A malformed signature counts as an invalid one.
  return texts.slice(0, MAX_SIGNATURES).map((text) => {
    return text.length === length && form.test(text) ? fromBase64(text) : new Uint8Array();
  });
}

/** Reads the signed headers. The signature covers their text, so each value must have only one spelling. */
function signedHeaders(header: ReadRequest["header"]): { id: string; seconds: number } {
  const id = header(WEBHOOK_ID) ?? "";
  if (!isEventId(id)) throw new PushRefusal("signature", "The webhook-id is missing, or is not an id.");
  const seconds = header(WEBHOOK_TIMESTAMP) ?? "";
  if (!/^(?:0|[1-9]\d{0,11})$/.test(seconds)) {
    throw new PushRefusal("signature", "The webhook-timestamp is missing, or is not a number of seconds.");
  }
  return { id, seconds: Number(seconds) };
}

/** True for visible characters without a comma, because a comma joins two headers of the same name. */
export const isEventId = (id: unknown): id is string => typeof id === "string" && /^[!-+\--~]{1,256}$/.test(id);
