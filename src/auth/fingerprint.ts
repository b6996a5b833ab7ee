import { createHash, createHmac, randomBytes } from "node:crypto";
import { lazy } from "../core/lazy.js";

// Made when first needed: some runtimes give no random bytes while modules are loaded.
const processKey = lazy(() => randomBytes(32));

/**
 * A text that stands for a secret in this process: secrets are looked up and compared by it, so that no comparison takes a
 * time that depends on how much of a guess is right, and none is kept as it came. It is keyed with a random key of the
 * process, so nobody can choose one.
 */
export function fingerprint(secret: string): string {
  return fingerprintOfHash(createHash("sha256").update(secret).digest());
}

/** The same of a secret of which only the SHA-256 is known. */
export function fingerprintOfHash(sha256: Uint8Array): string {
  return createHmac("sha256", processKey()).update(sha256).digest("base64url");
}

/** Whether a text is a SHA-256 in hex. */
export function isSha256(text: unknown): text is string {
  return typeof text === "string" && /^[0-9a-f]{64}$/i.test(text);
}
