import { cardKeyFaults } from "../../card/signing/card-keys.js";
import { aBoolean, anObjectOf, judged, listOf, type OptionCheck, oneOf } from "../../core/options.js";
import { webhookKeyBytes, webhookSecretFault } from "../../wire/webhook.js";

/** Maximum number of secrets that sign one notification: a rotation needs two. */
const MAX_SECRETS = 8;

/** Checks the option `push.signing`, without cryptography. No fault contains a key. */
export const pushSigningFaults: OptionCheck = anObjectOf({
  keys: cardKeyFaults,
  jwks: aBoolean(),
  webhookSecrets: secretFaults,
  secretPer: oneOf(["token", "server"]),
});

function secretFaults(place: string, given: unknown): readonly string[] {
  if (!Array.isArray(given)) return secrets(place, given);
  if (given.length > MAX_SECRETS) return [`${place} has more than ${MAX_SECRETS} secrets`];
  const faults = secrets(place, given);
  return new Set(given).size < given.length ? [...faults, `${place} has one secret twice`] : faults;
}

const secrets = listOf(judged(secretFault));

function secretFault(given: unknown): string | undefined {
  if (typeof given === "string" && given.startsWith("whsec_")) return webhookSecretFault(given);
  const bytes = webhookKeyBytes("whsk_", given);
  if (bytes === undefined) return "is neither whsec_ nor whsk_ with base64 behind it";
  return bytes.length === 32 || bytes.length === 64 ? undefined : "has neither 32 nor 64 bytes";
}
