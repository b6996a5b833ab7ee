import { createHash } from "node:crypto";

/** Maximum length of the name of a step, form or delegation, in characters. Some models put data into their ids. */
export const MAX_NAME = 65_536;

/** Length of a SHA-256 hash in base64url. */
const HASH_LENGTH = 43;

/**
 * Returns the name under which a step, form or delegation is stored. Authors may name them by ids of others, such as
 * those of a model's tool calls. A name that is longer than `max`, or that has characters which are not allowed, is
 * replaced by its beginning, `~` and its hash. A name that looks like that is replaced too, so that two names never
 * become one.
 */
export function storedName(name: string, max: number, allowed?: RegExp): string {
  const isShort = name.length <= max && name.at(-HASH_LENGTH - 1) !== "~";
  if (isShort && (allowed?.test(name) ?? name.isWellFormed())) return name;
  const beginning = name.slice(0, max - HASH_LENGTH - 1).replace(/[^\w.-]/g, "-");
  // JSON keeps characters apart that UTF-8 cannot represent.
  return `${beginning}~${createHash("sha256").update(JSON.stringify(name)).digest("base64url")}`;
}
