import { readFileSync, statSync } from "node:fs";
import type { CardSigning } from "../card/signing/kept-signatures.js";
import { messageIn } from "../core/members.js";
import { UsageError } from "./command-error.js";
import type { CommandOptions } from "./command-options.js";

/** Maximum size of a key file, in bytes. */
const MAX_KEY_BYTES = 64 * 1024;

/**
 * Reads a file with a private key.
 *
 * @param warn receives a sentence if other users can read the file.
 * @throws UsageError if the file cannot be read. The error does not contain its contents.
 */
export function readKeyFile(path: string, warn: (sentence: string) => void): string {
  try {
    const { mode, size } = statSync(path);
    if (size > MAX_KEY_BYTES) throw new Error(`it has more than ${MAX_KEY_BYTES} bytes`);
    // On Windows these bits have no meaning.
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      warn(`other users of this machine can read the private key ${path}: chmod 600 ${path}`);
    }
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new UsageError(`cannot read the key ${path}: ${messageIn(cause)}`, { cause });
  }
}

/** Card signing options: the module's, with the keys and the URL of the command line taking precedence. */
export function cardSigningOf(
  module: CardSigning | undefined,
  { cardKey: files, cardJku: jku }: Partial<CommandOptions>,
  warn: (sentence: string) => void,
): CardSigning | undefined {
  if (files === undefined && jku === undefined) return module;
  const keys = files?.map((path) => ({ key: readKeyFile(path, warn) })) ?? module?.keys;
  if (keys === undefined) throw new UsageError("--card-jku needs a key that signs cards (--card-key)");
  return { ...module, keys, ...(jku !== undefined && { jku }) };
}
