/** The length of a key of AES-256, in bytes. */
const KEY_BYTES = 32;

/** Parses a 32-byte key: bytes, base64 (of either alphabet) or hexadecimal text; undefined for anything else. */
export function keyBytes(given: unknown): Uint8Array | undefined {
  if (given instanceof Uint8Array) return given.length === KEY_BYTES ? given : undefined;
  if (typeof given !== "string") return undefined;
  const text = given.trim();
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  // 32 bytes leave four bits of the last base64 letter unused.
  if (!/^(?:[A-Za-z0-9+/]{43}=?|[A-Za-z0-9_-]{43}=?)$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.length === KEY_BYTES ? bytes : undefined;
}
