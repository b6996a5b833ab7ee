import { generateKeyPairSync, randomBytes } from "node:crypto";

/** A shared secret of Standard Webhooks. */
export const newSecret = (bytes = 32): string => `whsec_${randomBytes(bytes).toString("base64")}`;

/** A pair of keys of Standard Webhooks (Ed25519), with the private one in both forms that libraries write. */
export function newWebhookKeys(): { readonly whsk: string; readonly short: string; readonly whpk: string } {
  const { privateKey } = generateKeyPairSync("ed25519");
  const { d = "", x = "" } = privateKey.export({ format: "jwk" });
  const [seed, point] = [Buffer.from(d, "base64url"), Buffer.from(x, "base64url")];
  return {
    whsk: `whsk_${Buffer.concat([seed, point]).toString("base64")}`,
    short: `whsk_${seed.toString("base64")}`,
    whpk: `whpk_${point.toString("base64")}`,
  };
}
