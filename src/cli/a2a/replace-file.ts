import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { messageIn } from "../../core/members.js";
import { withFileLock } from "./auth/file-lock.js";
import { Failure } from "./errors.js";

/** Replaces a file as a whole, so that readers see the old text or the new one. Only its owner can read it. */
export function replaceFile(path: string, text: string): void {
  const next = `${path}.${randomUUID()}`;
  try {
    writeFileSync(next, text, { flag: "wx", mode: 0o600, flush: true });
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}

/**
 * Replaces a file in the user's folder while no other process changes it.
 *
 * @param changed returns the new text, under the lock
 * @param fault begins the message of a failure
 * @throws Failure
 */
export async function changeFile(
  path: string,
  changed: () => string,
  fault: string,
  signal?: AbortSignal,
): Promise<void> {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    await withFileLock(`${path}.lock`, async () => replaceFile(path, changed()), signal);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("A2ACLI_ERR_INTERNAL", `${fault}: ${messageIn(error)}`, { cause: error });
  }
}
