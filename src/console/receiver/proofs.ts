import { A2AError } from "../../core/error.js";
import { parseUrl } from "../../core/net.js";
import { issuerUrlFaults } from "../../jwt/issuer.js";
import { newToken } from "../../push-receiver/arrival.js";
import { type PushMemory, type PushReceiver, pushMemory, pushSecretOf } from "../../push-receiver/index.js";
import { pushReceiverWith } from "../../push-receiver/receiver.js";
import { PUSH_SIGNATURE, WEBHOOK_SIGNATURE, webhookKeyBytes, webhookSecretFault } from "../../wire/webhook.js";
import { receiverLimits } from "./limits.js";

/** A key by which the receiver checks signatures. */
interface Proof {
  readonly kind: "server" | "secret" | "publicKey";
  /** URL of an agent or its server, `whsec_…` or `whpk_…`. */
  readonly text: string;
}

/** A proof without its secret. */
export interface ShownProof {
  readonly id: number;
  readonly kind: Proof["kind"];
  readonly shown: string;
}

/** A receiver for the forms of one notification. */
interface Judging {
  readonly receiver: PushReceiver;
  /** True if `webhook-signature` is not checked, as no key for it is known. */
  readonly skipsWebhook: boolean;
  /** True if `Parley-Signature` is not checked, as no server is known. */
  readonly skipsJwt: boolean;
}

/**
 * Proofs of the sender of notifications. Each has to have the token. Beyond that, each form of signature that a
 * notification has is checked if a key for it is known: the receiver shows notifications of any agent, and which of them
 * sign is not known beforehand.
 */
export class Proofs {
  readonly token: string = newToken();
  readonly #address: string;
  readonly #fetch: typeof fetch | undefined;
  readonly #memory: PushMemory = pushMemory(receiverLimits.remembered);
  readonly #proofs = new Map<number, Proof>();
  readonly #receivers = new Map<string, Judging>();
  #lastId = 0;

  /** @param keyFetch fetches the keys of servers */
  constructor(address: string, keyFetch: typeof fetch | undefined) {
    this.#address = address;
    this.#fetch = keyFetch;
  }

  get all(): readonly ShownProof[] {
    return [...this.#proofs].map(([id, { kind, text }]) => {
      return { id, kind, shown: kind === "secret" ? "whsec_[redacted]" : text };
    });
  }

  /**
   * Adds a proof, unless it is there already.
   *
   * @throws A2AError INVALID_REQUEST, TOO_MANY_REQUESTS
   */
  add(given: string): void {
    const text = given.trim();
    const [kind, fault] = readProof(text);
    if (fault !== undefined) throw new A2AError("INVALID_REQUEST", fault);
    if ([...this.#proofs.values()].some((each) => each.text === text)) return;
    if (this.#proofs.size >= receiverLimits.proofs) {
      const error = `The receiver keeps at most ${receiverLimits.proofs} keys: remove one first.`;
      throw new A2AError("TOO_MANY_REQUESTS", error);
    }
    this.#proofs.set(++this.#lastId, { kind, text });
    this.#receivers.clear();
  }

  remove(id: number): void {
    this.#proofs.delete(id);
    this.#receivers.clear();
  }

  /** Returns the receiver that checks the forms of a notification. */
  for(headers: Headers): Judging {
    const [hasJwt, hasWebhook] = [headers.has(PUSH_SIGNATURE), headers.has(WEBHOOK_SIGNATURE)];
    const forms = `${hasJwt} ${hasWebhook}`;
    const known = this.#receivers.get(forms);
    if (known !== undefined) return known;
    const made = this.#make(hasJwt, hasWebhook);
    this.#receivers.set(forms, made);
    return made;
  }

  #make(hasJwt: boolean, hasWebhook: boolean): Judging {
    const servers = hasJwt ? [...new Set(this.#texts("server").flatMap(serversOf))] : [];
    const secrets = hasWebhook ? this.#texts("secret") : [];
    const publicKeys = hasWebhook ? this.#texts("publicKey") : [];
    const options = {
      tokens: [this.token],
      acceptUnsigned: true,
      audience: this.#address,
      memory: this.#memory,
      limits: { maxBodyBytes: receiverLimits.bodyBytes },
      ...(servers.length > 0 && { servers }),
      ...(secrets.length > 0 && { secrets: (token: string) => withDerived(secrets, token) }),
      ...(publicKeys.length > 0 && { publicKeys }),
    };
    return {
      receiver: pushReceiverWith(options, this.#fetch),
      skipsWebhook: hasWebhook && secrets.length + publicKeys.length === 0,
      skipsJwt: hasJwt && servers.length === 0,
    };
  }

  #texts(kind: Proof["kind"]): string[] {
    return [...this.#proofs.values()].flatMap((each) => (each.kind === kind ? [each.text] : []));
  }
}

/** Returns the kind of a proof and its fault. */
function readProof(text: string): readonly [Proof["kind"], string | undefined] {
  if (text.startsWith("whsec_")) {
    const fault = webhookSecretFault(text);
    return ["secret", fault && `The secret ${fault}.`];
  }
  if (text.startsWith("whpk_")) {
    const isKey = webhookKeyBytes("whpk_", text)?.length === 32;
    return ["publicKey", isKey ? undefined : "The public key must be whpk_ followed by 32 bytes in base64."];
  }
  if (text.length > receiverLimits.proofLength || parseUrl(text) === undefined) {
    return ["server", "Give the URL of an agent, or a key that begins with whsec_ or whpk_."];
  }
  const [fault] = issuerUrlFaults("The URL", text);
  return ["server", fault && `${fault}.`];
}

/** Returns the servers that may sign for an agent: their public URLs are that of the agent, or begin it. */
function serversOf(agent: string): string[] {
  const { origin, pathname } = new URL(agent);
  const names = pathname.split("/").filter((name) => name !== "");
  return [origin, ...names.map((_, at) => `${origin}/${names.slice(0, at + 1).join("/")}`)];
}

/** Returns the secrets, and those that a server with them derives for a token. */
async function withDerived(secrets: readonly string[], token: string): Promise<readonly string[]> {
  return [...secrets, ...(await Promise.all(secrets.map((secret) => pushSecretOf(secret, token))))];
}
