import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { CardAlgorithm } from "../../../src/card/index.js";

/** A pair of keys in common formats. */
export interface KeyPair {
  readonly alg: CardAlgorithm;
  /** PKCS #8. */
  readonly pem: string;
  readonly jwk: Record<string, unknown>;
  /** SPKI. */
  readonly publicPem: string;
  readonly publicJwk: Record<string, unknown>;
  readonly privateKey: KeyObject;
}

/** A new pair of keys for an algorithm. */
export function keyPair(alg: CardAlgorithm = "ES256"): KeyPair {
  const { privateKey, publicKey } = generate(alg);
  return {
    alg,
    pem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    jwk: privateKey.export({ format: "jwk" }) as Record<string, unknown>,
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
    publicJwk: publicKey.export({ format: "jwk" }) as Record<string, unknown>,
    privateKey,
  };
}

function generate(alg: CardAlgorithm): { privateKey: KeyObject; publicKey: KeyObject } {
  if (alg === "RS256") return generateKeyPairSync("rsa", { modulusLength: 2048 });
  return alg === "ES256" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("ed25519");
}
