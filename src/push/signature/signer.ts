import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type JsonWebKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { ConfigurationError } from "../../card/faults.js";
import { type CardKey, importKeysWith, publicKeySet, type ReadKey } from "../../card/signing/card-keys.js";
import { onceDone } from "../../core/async.js";
import { utf8Of } from "../../core/bytes.js";
import {
  PUSH_CONFIG,
  PUSH_JWT_TYPE,
  PUSH_SECRET_BYTES,
  PUSH_SIGNATURE,
  pushAudience,
  pushSecretInfo,
  WEBHOOK_ID,
  WEBHOOK_SIGNATURE,
  WEBHOOK_TIMESTAMP,
  webhookKeyBytes,
  webhookPrefix,
} from "../../wire/webhook.js";
import { memoized } from "../memoize.js";
import type { PushSigningOptions } from "../options.js";
import { pushSigningFaults } from "./faults.js";

/** One attempt to deliver one event. */
export interface SignedEvent {
  /** Equal in each attempt. */
  readonly id: string;
  readonly taskId: string;
  readonly configId: string;
  readonly generation: number;
  /** Time of the attempt, in milliseconds since 1970: a receiver rejects old ones. */
  readonly time: number;
  /** The webhook. */
  readonly url: string;
  readonly body: Uint8Array | string;
  /** Token of the configuration; empty without one. */
  readonly token: string;
  /** True to add the JWT of `bodyToken` as a bearer token. Default false. */
  readonly asBearer?: boolean;
}

/** Signs notifications. */
export interface PushSigner {
  /**
   * Returns the headers of one attempt: always `webhook-id`, `webhook-timestamp` and `Parley-Config`, and a signature
   * for each key. A promise only if an RSA key signs, in a thread of the pool.
   */
  headers(event: SignedEvent): Promise<Record<string, string>> | Record<string, string>;
  /** The public keys of the options, as a JWKS (RFC 7517, 5). */
  readonly jwks: () => KeySet;
  /** The same, with the generated key for bearer tokens; generates it if needed. */
  readonly allKeys: () => Promise<KeySet>;
}

interface KeySet {
  readonly keys: readonly object[];
}

/**
 * Lifetime of the JWT that signs one attempt to deliver a notification, in milliseconds. It covers the time in transit and the
 * difference between two clocks.
 */
export const pushSignature = { lifetimeMs: 300_000 } as const;

interface PushSignerOptions {
  /** Default: notifications are not signed. */
  readonly signing?: PushSigningOptions | undefined;
  /** Returns the server's public URL at the time of signing, the `iss` of each JWT. */
  readonly issuer: () => string;
  /**
   * Generates an RSA key per process if bearer tokens are requested and the options have none. Only for a server that
   * publishes it. Default false: the first key then signs bearer tokens, or they are omitted without keys.
   */
  readonly makesKey?: boolean;
}

/**
 * Creates the signer.
 *
 * @throws ConfigurationError that names every unusable key, but not its contents.
 */
export async function createPushSigner(options: PushSignerOptions): Promise<PushSigner> {
  const { signing = {}, issuer, makesKey = false } = options;
  const { keys = [], webhookSecrets = [], secretPer = "token" } = signing;
  const faults = pushSigningFaults("push.signing", signing);
  if (faults.length > 0) throw new ConfigurationError("Invalid keys", faults);
  const read = await readKeys(keys);
  const [first] = read;
  const lifetime = Math.ceil(pushSignature.lifetimeMs / 1_000);
  const jwt = first === undefined ? undefined : new JwtSigner(first, issuer, lifetime);
  const webhook = webhookSecrets.map((secret, i) =>
    secret.startsWith("whsec_")
      ? hmacSigner(secret, secretPer === "token")
      : ed25519Signer(secret, `push.signing.webhookSecrets[${i}]`),
  );
  const bearer = bearerKeyOf(read, makesKey);
  const jwks = publicKeySet(read);
  return {
    jwks: () => jwks,
    allKeys: async () => {
      const key = await bearer();
      return key === undefined || read.includes(key) ? jwks : publicKeySet([...read, key]);
    },
    headers: (event) => {
      const seconds = Math.floor(event.time / 1_000);
      const headers: Record<string, string> = {
        [WEBHOOK_ID]: event.id,
        [WEBHOOK_TIMESTAMP]: String(seconds),
        [PUSH_CONFIG]: encodeURIComponent(event.configId),
      };
      if (webhook.length > 0) {
        const signatures = webhook.map((signer) => signer(event, seconds)).filter((each) => each !== "");
        if (signatures.length > 0) headers[WEBHOOK_SIGNATURE] = signatures.join(" ");
      }
      const token = jwt?.sign(event, seconds);
      const made = token === undefined ? headers : withHeader(headers, PUSH_SIGNATURE, token);
      return event.asBearer === true ? withBearer(made, event.body, seconds) : made;
    },
  };

  async function withBearer(
    made: SignedHeaders | Promise<SignedHeaders>,
    body: Uint8Array | string,
    seconds: number,
  ): Promise<SignedHeaders> {
    const key = await bearer();
    return key === undefined ? made : withHeader(await made, "authorization", bodyToken(key, body, seconds));
  }
}

/** Finds or generates the key of bearer tokens. It is RSA, because their receivers know no other algorithm. */
function bearerKeyOf(given: readonly ReadyKey[], makesKey: boolean): () => Promise<ReadyKey | undefined> {
  const rsa = given.find(({ alg }) => alg === "RS256");
  // After a failure the next notification tries again.
  return onceDone(async () => (rsa === undefined && makesKey ? makeRsaKey() : (rsa ?? given[0])));
}

const rsa2048 = {
  name: "RSASSA-PKCS1-v1_5",
  modulusLength: 2048,
  publicExponent: Uint8Array.of(1, 0, 1),
  hash: "SHA-256",
} as const;

async function makeRsaKey(): Promise<ReadyKey | undefined> {
  const { privateKey } = await crypto.subtle.generateKey(rsa2048, true, ["sign", "verify"]);
  const [key] = await readKeys([{ key: await crypto.subtle.exportKey("jwk", privateKey) }]);
  return key;
}

type SignedHeaders = Record<string, string>;

function withHeader(
  headers: SignedHeaders,
  name: string,
  value: string | Promise<string>,
): SignedHeaders | Promise<SignedHeaders> {
  if (typeof value === "string") return { ...headers, [name]: value };
  return value.then((text) => ({ ...headers, [name]: text }));
}

/**
 * The bearer token for clients that ask for signed posts instead of credentials: it contains the time and the digest of
 * the body.
 */
function bodyToken({ alg, kid, key }: ReadyKey, body: Uint8Array | string, iat: number): string | Promise<string> {
  const claims = { iat, request_body_sha256: createHash("sha256").update(body).digest("hex") };
  const token = signed(`${base64url({ alg, typ: "JWT", kid })}.${base64url(claims)}`, alg, key);
  return token instanceof Promise ? token.then((text) => `Bearer ${text}`) : `Bearer ${token}`;
}

/** A test message that each key signs first. */
const probe = utf8Of("push");

interface ReadyKey extends Omit<ReadKey, "jwk"> {
  readonly key: KeyObject;
}

async function readKeys(keys: readonly CardKey[]): Promise<readonly ReadyKey[]> {
  if (keys.length === 0) return [];
  return importKeysWith("push.signing.keys", keys, ({ jwk, ...read }) => {
    const key = createPrivateKey({ key: jwk as JsonWebKey, format: "jwk" });
    const shown = createPublicKey({ key: read.publicKey as JsonWebKey, format: "jwk" });
    // A JWK with mismatched halves would make signatures that cannot be verified.
    const digest = read.alg === "EdDSA" ? null : "sha256";
    if (!verify(digest, probe, shown, sign(digest, probe, key))) throw new Error("another public key");
    return { ...read, key };
  });
}

/**
 * Creates JWTs (RFC 7519, in the compact form of RFC 7515). OpenSSL signs them synchronously in 40 microseconds;
 * WebCrypto would use another thread for that.
 */
class JwtSigner {
  readonly #key: ReadyKey;
  readonly #header: string;
  readonly #issuer: () => string;
  readonly #lifetime: number;

  constructor(key: ReadyKey, issuer: () => string, lifetime: number) {
    this.#key = key;
    this.#header = `${base64url({ alg: key.alg, typ: PUSH_JWT_TYPE, kid: key.kid })}.`;
    this.#issuer = issuer;
    this.#lifetime = lifetime;
  }

  sign(event: SignedEvent, seconds: number): string | Promise<string> {
    const claims = {
      iss: this.#issuer(),
      aud: pushAudience(event.url),
      iat: seconds,
      exp: seconds + this.#lifetime,
      jti: event.id,
      task: event.taskId,
      config: event.configId,
      generation: event.generation,
      digest: createHash("sha256").update(event.body).digest("base64url"),
    };
    const text = this.#header + base64url(claims);
    return signed(text, this.#key.alg, this.#key.key);
  }
}

/** Appends the signature to a text (RFC 7515, 7.1); a promise for RSA, which a thread of the pool computes. */
function signed(text: string, alg: string, key: KeyObject): string | Promise<string> {
  const bytes = Buffer.from(text);
  if (alg === "RS256") return rsaSignature(bytes, key).then((signature) => `${text}.${signature}`);
  const signature = alg === "EdDSA" ? sign(null, bytes, key) : sign("sha256", bytes, { key, ...ieeeP1363 });
  return `${text}.${signature.toString("base64url")}`;
}

/** The form of signatures of RFC 7518, 3.4. */
const ieeeP1363 = { dsaEncoding: "ieee-p1363" } as const;

const base64url = (json: object): string => Buffer.from(JSON.stringify(json)).toString("base64url");

function rsaSignature(bytes: Uint8Array, key: KeyObject): Promise<string> {
  return new Promise((resolve, reject) => {
    sign("sha256", bytes, key, (error, signature) => {
      if (error === null) resolve(signature.toString("base64url"));
      else reject(error);
    });
  });
}

/** One signature of Standard Webhooks; empty for a configuration that gets none. */
type WebhookSigner = (event: SignedEvent, seconds: number) => string;

function hmacSigner(text: string, perToken: boolean): WebhookSigner {
  const secret = webhookKeyBytes("whsec_", text) ?? new Uint8Array();
  // Deriving costs six times as much as signing.
  const secretOf = memoized((token) => derived(secret, token));
  return ({ id, token, body }, seconds) => {
    if (perToken && token === "") return "";
    const key = perToken ? secretOf(token) : secret;
    return `v1,${createHmac("sha256", key).update(webhookPrefix(id, seconds)).update(body).digest("base64")}`;
  };
}

const derived = (secret: Uint8Array, token: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, "", pushSecretInfo(token), PUSH_SECRET_BYTES));

/** DER of PKCS #8 before the 32 bytes of a private key of Ed25519 (RFC 8410, 7). */
const ED25519_PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

function ed25519Signer(text: string, place: string): WebhookSigner {
  const pair = webhookKeyBytes("whsk_", text) ?? new Uint8Array();
  const der = Buffer.concat([ED25519_PKCS8, pair.subarray(0, 32)]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const { x } = createPublicKey(key).export({ format: "jwk" });
  const given = pair.subarray(32);
  if (given.length > 0 && Buffer.from(given).toString("base64url") !== x) {
    throw new ConfigurationError("Invalid keys", [`${place} has a public key that does not belong to its private one`]);
  }
  return ({ id, body }, seconds) => {
    const bytes = typeof body === "string" ? utf8Of(body) : body;
    const text = Buffer.concat([Buffer.from(webhookPrefix(id, seconds)), bytes]);
    return `v1a,${sign(null, text, key).toString("base64")}`;
  };
}
