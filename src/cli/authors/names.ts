import { UsageError } from "../usage-error.js";

/** Maximum number of characters of a package's name, as npm allows. */
const MAX_LENGTH = 214;

/** Names that npm refuses, or that would hide a package of a template. */
const taken = new Set([
  "node_modules",
  "favicon.ico",
  ...["parley-a2a", "create-parley-a2a", "tsx", "typescript", "express", "fastify", "ai", "zod", "pino"],
]);

/**
 * Checks the name of a package.
 *
 * @param what the source of the name, for the error
 * @throws UsageError
 */
export function checkName(name: string, what: string, remedy: string = "choose another one, such as my-agent"): void {
  const fault = faultOf(name);
  if (fault !== undefined) throw new UsageError(`${what}: ${JSON.stringify(name)} ${fault}: ${remedy}`);
}

function faultOf(name: string): string | undefined {
  if (taken.has(name)) return "is the name of another package";
  if (name.length > MAX_LENGTH) return `has more than ${MAX_LENGTH} characters`;
  if (/^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/.test(name)) return undefined;
  return "is not a name for npm (lower-case letters, digits, - . _)";
}

/** Returns a valid name like this one, or undefined. */
export function nameFor(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+|-+$/g, "")
    .slice(0, MAX_LENGTH);
  return name === "" || faultOf(name) !== undefined ? undefined : name;
}
