import { readFileSync } from "node:fs";
import { attempt } from "../../../core/members.js";

/**
 * Returns the script that the build has made for a shell, since reading all commands takes a quarter of a second. Undefined
 * for a program of another name, and in the sources.
 */
export function storedScript(program: string, shell: string): string | undefined {
  if (program !== "parley" || !/^[a-z]+$/.test(shell)) return undefined;
  return attempt(() => readFileSync(new URL(`../completion/${shell}`, import.meta.url), "utf8"));
}
