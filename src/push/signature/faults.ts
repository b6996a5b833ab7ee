import { cardKeyFaults } from "../../card/signing/card-keys.js";
import { unknownNames } from "../../core/describe.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { webhookKeyBytes, webhookSecretFault } from "../../wire/webhook.js";

const knownFields = ["keys", "jwks", "webhookSecrets", "secretPer"];

/** Maximum number of secrets that sign one notification: a rotation needs two. */
const MAX_SECRETS = 8;

/**
 * Faults of the option `push.signing` that can be found without cryptography; each begins with its place and contains
 * no key.
 */
export function pushSigningFaults(place: string, given: unknown): string[] {
  if (!isJsonObject(given)) return [`${place} must be an object with keys`];
  const { keys, jwks = true, webhookSecrets, secretPer = "token" } = given;
  const faults = unknownNames(`${place}.`, Object.keys(given), knownFields);
  if (keys !== undefined) faults.push(...cardKeyFaults(`${place}.keys`, keys));
  if (webhookSecrets !== undefined) faults.push(...secretFaults(`${place}.webhookSecrets`, webhookSecrets));
  if (typeof jwks !== "boolean") faults.push(`${place}.jwks is neither true nor false`);
  if (secretPer !== "token" && secretPer !== "server")
    faults.push(`${place}.secretPer is neither "token" nor "server"`);
  return faults;
}

function secretFaults(place: string, given: unknown): string[] {
  if (!Array.isArray(given) || given.length === 0) return [`${place} must be a list of secrets`];
  if (given.length > MAX_SECRETS) return [`${place} has more than ${MAX_SECRETS} secrets`];
  const faults = given.flatMap((each, i) => {
    const fault = secretFault(each);
    return fault === undefined ? [] : [`${place}[${i}] ${fault}`];
  });
  return new Set(given).size < given.length ? [...faults, `${place} has one secret twice`] : faults;
}

function secretFault(given: unknown): string | undefined {
  if (typeof given === "string" && given.startsWith("whsec_")) return webhookSecretFault(given);
  const bytes = webhookKeyBytes("whsk_", given);
  if (bytes === undefined) return "is neither whsec_ nor whsk_ with base64 behind it";
  return bytes.length === 32 || bytes.length === 64 ? undefined : "has neither 32 nor 64 bytes";
}
