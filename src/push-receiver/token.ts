import { fromBase64 } from "../core/bytes.js";
import { A2AError } from "../core/error.js";
import { isText } from "../core/members.js";
import type { IssuerParts } from "../jwt/issuer.js";
import { createVerifier, type JsonWebKeySet, TokenFault, type Verified } from "../jwt/verifier.js";
import { isJsonObject } from "../wire/json-struct.js";
import { PUSH_JWT_TYPE } from "../wire/webhook.js";
import { base64urlOf, sha256 } from "./bytes.js";
import { PushRefusal, type PushRefusalCode } from "./refusal.js";
import type { ReadRequest } from "./request.js";
import { isEventId } from "./standard-webhook.js";

/** A server whose JWTs are trusted. */
interface TrustedServer {
  /** Its `iss`. */
  readonly url: string;
  readonly jwks: string | JsonWebKeySet;
}

/** Claims of a notification's JWT. */
interface SignedClaims {
  readonly issuer: string;
  readonly id: string;
  readonly taskId: string;
  readonly configId: string;
  readonly generation: number;
  /** Seconds since 1970. */
  readonly seconds: number;
}

/** Maximum length of a JWT, in characters. */
const MAX_LENGTH = 8 * 1024;

/** Maximum length of unverified text in the log, in characters. */
const MAX_SHOWN = 300;

export class TokenVerifier {
  readonly #audience: readonly string[];
  readonly #verifiers: ReadonlyMap<string, (token: string) => Promise<Verified | TokenFault>>;

  constructor(servers: readonly TrustedServer[], audience: string | readonly string[], parts: IssuerParts) {
    this.#audience = [audience].flat();
    this.#verifiers = new Map(
      servers.map(({ url, jwks }) => [
        url,
        // No tolerance for the expiry: it applies to the signing time, which is checked too.
        createVerifier({ jwks, issuer: url, audience, typ: PUSH_JWT_TYPE, clockTolerance: 0 }, parts),
      ]),
    );
  }

  /** @throws PushRefusal for a JWT of an untrusted server, for another webhook, or of another body. */
  async verify(token: string, { body }: ReadRequest): Promise<SignedClaims> {
    const { iss: issuer, aud } = (token.length > MAX_LENGTH ? undefined : unverifiedClaims(token)) ?? {};
    if (typeof issuer !== "string") throw new PushRefusal("signature", "Parley-Signature is not a JWT.");
    const verify = this.#verifiers.get(issuer);
    if (verify === undefined) {
      const why = differing("servers", [...this.#verifiers.keys()], issuer);
      throw new PushRefusal("issuer", "Parley-Signature is of another server.", why);
    }
    const result = await resultOf(verify, token);
    if (result instanceof TokenFault) {
      const code = codeOf(result);
      const why = code === "audience" ? differing("audience", this.#audience, aud) : undefined;
      throw new PushRefusal(code, `Parley-Signature: ${result.description}`, why);
    }
    const claims = claimsOf(result.claims, issuer);
    const digest = base64urlOf(await sha256(body));
    if (claims.digest !== digest) throw new PushRefusal("signature", "Parley-Signature is of another body.");
    return claims;
  }
}

/** Unverified claims of a JWT, used to choose the server's keys. */
function unverifiedClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, payload = "", ...rest] = token.split(".");
  if (rest.length !== 1 || !/^[\w-]+$/.test(payload)) return undefined;
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(fromBase64(payload)));
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns an error for the receiver's log only. Often the expected and the received value name the same server or
 * webhook.
 */
function differing(option: string, expected: readonly string[], claimed: unknown): Error {
  const shown = (JSON.stringify(claimed) ?? "nothing").slice(0, MAX_SHOWN);
  return new Error(`${option} of this receiver: ${expected.join(", ")}; the notification says ${shown}`);
}

async function resultOf(
  verify: (token: string) => Promise<Verified | TokenFault>,
  token: string,
): Promise<Verified | TokenFault> {
  try {
    return await verify(token);
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    throw new PushRefusal("unavailable", "The keys of the server cannot be had at the moment.", error);
  }
}

function codeOf({ kind, claim }: TokenFault): PushRefusalCode {
  if (kind === "expired") return "stale";
  return kind === "claim" && claim === "aud" ? "audience" : "signature";
}

function claimsOf(claims: Record<string, unknown>, issuer: string): SignedClaims & { readonly digest: string } {
  const { jti, iat, task, config, generation, digest } = claims;
  if (isEventId(jti) && isText(task) && isText(config) && isText(digest) && isCount(iat) && isCount(generation)) {
    return { issuer, id: jti, taskId: task, configId: config, generation, seconds: iat, digest };
  }
  throw new PushRefusal("signature", "Parley-Signature lacks a claim, or has one of another form.");
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
