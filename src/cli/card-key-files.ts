import { readFileSync, statSync } from "node:fs";
import type { CardSigning } from "../card/signing/signer.js";
import type { CommandOptions } from "./command-options.js";
import { UsageError } from "./usage-error.js";

/** The largest file of a key, in bytes. */
const MAX_KEY_BYTES = 64 * 1024;

/**
 * The text of a file with a private key.
 *
 * @param warn gets a sentence when others may read the file.
 * @throws UsageError if it cannot be read, without its contents.
 */
export function readKeyFile(path: string, warn: (sentence: string) => void): string {
  try {
    const { mode, size } = statSync(path);
    if (size > MAX_KEY_BYTES) throw new Error(`it has more than ${MAX_KEY_BYTES} bytes`);
    // On Windows these bits say nothing.
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      warn(`other users of this machine can read the private key ${path}: chmod 600 ${path}`);
    }
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new UsageError(`cannot read the key ${path}: ${(cause as Error).message}`, { cause });
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
