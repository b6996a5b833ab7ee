import type { JWK } from "jose";

const labelOf = (text: string): string | undefined => /-----BEGIN ([A-Z0-9 ]+)-----/.exec(text)?.[1];

/** True for PEM of any kind. */
export const isPem = (text: string): boolean => labelOf(text) !== undefined;

/** Returns the reason to reject a text as a private key in PKCS #8, as half a sentence, or undefined. */
export function privatePemFault(text: string): string | undefined {
  const label = labelOf(text);
  if (label === "PRIVATE KEY") return undefined;
  if (label?.includes("ENCRYPTED") || /Proc-Type:.*ENCRYPTED/.test(text)) return "is protected by a passphrase";
  if (label?.endsWith("PRIVATE KEY")) {
    return `is in the older form "${label}": turn it into PKCS #8 with openssl pkcs8 -topk8 -nocrypt`;
  }
  return label === undefined ? "is not PEM" : `is a ${label.toLowerCase()}, not a private key`;
}

/** Returns the reason to reject a text as a public key in PEM, as half a sentence, or undefined. */
export function publicPemFault(text: string): string | undefined {
  const label = labelOf(text);
  if (label === "PUBLIC KEY") return undefined;
  if (label?.includes("PRIVATE KEY")) return "is a private key: to verify, give the public one";
  return label === undefined ? "is not PEM" : `is a ${label.toLowerCase()}, not a public key (openssl pkey -pubout)`;
}

/** Algorithms to try for PEM: jose needs one before it reads a key. */
const kinds = ["ES256", "RS256", "EdDSA", "ES384", "ES512"];

/** Returns the private or public key of a PEM as JWK; undefined if no supported algorithm can use it. */
export async function jwkOfPem(pem: string): Promise<JWK | undefined> {
  const { importPKCS8, importSPKI, exportJWK } = await import("jose");
  const read = pem.includes("-----BEGIN PRIVATE KEY-----") ? importPKCS8 : importSPKI;
  for (const alg of kinds) {
    try {
      return await exportJWK(await read(pem, alg, { extractable: true }));
    } catch {
      // The key is for another algorithm.
    }
  }
  return undefined;
}
