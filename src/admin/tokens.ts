import { createHash } from "node:crypto";
import { knownSecrets } from "../auth/known-secrets.js";
import type { CallerInput } from "../core/call.js";
import type { Logger } from "../core/log.js";
import { messageIn } from "../core/members.js";
import type { AdminToken } from "./options.js";

// Servers without an operator's service load this file for the check of their options.

/** Minimum length of a token in characters. */
const MIN_TOKEN = 32;

/** Maximum size of a tokens file in bytes. */
const MAX_FILE = 1024 * 1024;

/** Minimum time between two checks of a tokens file, in milliseconds. */
export const tokensPoll: { readonly intervalMs: number } = { intervalMs: 1_000 };

const nameForm = /^[\w.@-]{1,64}$/;
const tokenForm = /^[A-Za-z0-9\-._~+/]+=*$/;
const sha256Form = /^[0-9a-f]{64}$/i;

/** Finds the operator of a token: the scopes are the roles. */
export type TokenLookup = (token: string) => CallerInput | undefined;

/** Returns the operators of tokens, compared by a digest with a key of this process. */
export function tokenLookup(tokens: readonly AdminToken[]): TokenLookup {
  const known = tokens.map(({ name: owner, role, token, sha256 }) => ({
    owner,
    scopes: role === "write" ? ["read", "write"] : ["read"],
    ...(token === undefined ? { sha256: sha256 ?? "" } : { token }),
  }));
  return knownSecrets<(typeof known)[number] & { readonly token?: string; readonly sha256?: string }>(
    known,
    ({ token }) => token,
  );
}

/** Returns the faults of a token as the rest of a sentence. They never contain the token. */
export function tokenFaults({ name, role, token, sha256 }: Readonly<Record<string, unknown>>): string[] {
  const faults: string[] = [];
  if (typeof name !== "string" || !nameForm.test(name)) {
    faults.push("has no name of at most 64 letters, digits, '.', '_', '@' and '-'");
  }
  if (role !== "read" && role !== "write") faults.push('has a role that is neither "read" nor "write"');
  if ((token === undefined) === (sha256 === undefined)) faults.push("needs either a token or its sha256");
  else if (token === undefined && !(typeof sha256 === "string" && sha256Form.test(sha256))) {
    faults.push("has a sha256 that is not 64 digits in hex");
  } else if (
    token !== undefined &&
    !(typeof token === "string" && tokenForm.test(token) && token.length >= MIN_TOKEN)
  ) {
    faults.push(`has a token that is shorter than ${MIN_TOKEN} characters, or not of A-Z, a-z, 0-9 and -._~+/=`);
  }
  return faults;
}

/**
 * Reads a tokens file.
 *
 * @throws Error that names every fault, and no token
 */
function readTokens(path: string): { readonly tokens: readonly AdminToken[]; readonly version: string } {
  // Not imported, because runtimes without files load this module too.
  const fs = process.getBuiltinModule("node:fs");
  const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants;
  // Opening a pipe without a writer would block the process otherwise.
  const file = fs.openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    const stats = fs.fstatSync(file);
    if (!stats.isFile()) throw new Error("it is not a file");
    if ((stats.mode & 0o007) !== 0 && process.platform !== "win32") {
      throw new Error("other users may read or change it (chmod 600)");
    }
    if (stats.size > MAX_FILE) throw new Error(`it has more than ${MAX_FILE} bytes`);
    return { tokens: parseTokens(fs.readFileSync(file, "utf8")), version: versionOf(stats) };
  } finally {
    fs.closeSync(file);
  }
}

function parseTokens(text: string): AdminToken[] {
  const faults: string[] = [];
  const tokens: AdminToken[] = [];
  const seen = new Set<string>();
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const words = line.trim().split(/\s+/);
    if (line.trim() === "" || line.trim().startsWith("#")) continue;
    const [name = "", role, secret = "", more] = words;
    const hash = /^sha256:(.*)$/.exec(secret)?.[1];
    const entry = { name, role, ...(hash === undefined ? { token: secret } : { sha256: hash }) };
    const wrong = more === undefined ? tokenFaults(entry) : ["has more than a name, a role and a token"];
    const digest = hash?.toLowerCase() ?? createHash("sha256").update(secret).digest("hex");
    if (seen.has(digest)) wrong.push("has the token of another line");
    seen.add(digest);
    faults.push(...wrong.map((fault) => `line ${i + 1} ${fault}`));
    tokens.push(entry as AdminToken);
  }
  if (faults.length > 0) throw new Error(faults.join("; "));
  if (tokens.length === 0) throw new Error("it has no token");
  return tokens;
}

/** Returns the faults of a tokens file, as sentences. */
export function tokensFileFaults(place: string, path: unknown): string[] {
  if (typeof path !== "string" || path === "") return [`${place} is not the path of a file`];
  try {
    readTokens(path);
    return [];
  } catch (error) {
    return [`${place} ${path}: ${messageIn(error)}`];
  }
}

/** The attributes of a file that change with its content. */
type FileState = Readonly<Record<"mtimeMs" | "ctimeMs" | "ino" | "size", number>>;

function versionOf({ mtimeMs, ctimeMs, ino, size }: FileState): string {
  return [mtimeMs, ctimeMs, ino, size].join(" ");
}

/**
 * The tokens of a file. A call checks the file for changes, at most once in `tokensPoll.intervalMs`. If a changed file
 * is invalid, the previous tokens stay in use.
 */
export class TokensFile {
  readonly #path: string;
  readonly #logger: Logger;
  #find: TokenLookup;
  #version: string;
  #polledAt: number = performance.now();

  /** @throws Error for a file that is invalid */
  constructor(path: string, logger: Logger) {
    const { tokens, version } = readTokens(path);
    this.#path = path;
    this.#logger = logger;
    this.#find = tokenLookup(tokens);
    this.#version = version;
  }

  find(token: string): CallerInput | undefined {
    const now = performance.now();
    if (now - this.#polledAt >= tokensPoll.intervalMs) {
      this.#polledAt = now;
      this.#poll();
    }
    return this.#find(token);
  }

  #poll(): void {
    const path = this.#path;
    try {
      const version = versionOf(process.getBuiltinModule("node:fs").statSync(path));
      if (version === this.#version) return;
      const read = readTokens(path);
      this.#find = tokenLookup(read.tokens);
      this.#version = read.version;
      this.#logger.info({ path, tokens: read.tokens.length }, "the operators' tokens were read again");
    } catch (error) {
      const fault = messageIn(error);
      // One line for each fault, not for each check.
      if (this.#version === fault) return;
      this.#version = fault;
      this.#logger.error({ path, fault }, "the operators' new tokens cannot be used; the previous tokens stay in use");
    }
  }
}
