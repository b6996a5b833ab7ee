import { createHash } from "node:crypto";
import { readFileSync, type Stats, statSync } from "node:fs";
import type { OAuthStorage } from "../../../client/oauth/storage.js";
import { isTexts, readTokens } from "../../../client/oauth/tokens.js";
import { attempt, isRecord } from "../../../core/members.js";
import { parsedJson } from "../../../wire/parsed-json.js";
import { loginFile } from "../config-folder.js";
import { Failure, usage, usageOf } from "../errors.js";
import { changeFile } from "../replace-file.js";
import type { Scope } from "../scope.js";
import { withFileLock } from "./file-lock.js";

/** Largest file of logins, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** Kinds of logins: the flows of OAuth, and secrets that were typed. */
export const flows = ["device", "code", "client-credentials", "bearer", "api-key", "basic"] as const;

export type Flow = (typeof flows)[number];

/** A stored credential for one security scheme of one agent. */
export interface Login {
  /** Origin of the agent's card, or of the interface if no card was read from the network. */
  readonly agent: string;
  /** Name of the scheme in the card; empty if the card declares none. */
  readonly scheme: string;
  readonly flow: Flow;
  /** Origins of the interfaces that receive the credential. */
  readonly origins: readonly string[];
  /** A typed secret; for `basic` with the user's name before a colon. */
  readonly secret?: string;
  /** The scheme as the card declared it at the login, as JSON: a later card cannot name another issuer. */
  readonly declared?: unknown;
  /** Issuer as the card named it at the login: several agents of one origin may have different ones. */
  readonly issuedBy?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly issuer?: string;
  readonly scopes?: readonly string[];
  readonly resource?: string;
  readonly audience?: string;
  /** Tokens by the keys of the client. */
  readonly tokens?: Readonly<Record<string, string>>;
}

/** Logins by `keyOf`. */
type Logins = Readonly<Record<string, Login>>;

const keyOf = ({ agent, scheme, issuedBy }: Login): string => JSON.stringify([agent, scheme, issuedBy ?? null]);

/**
 * The logins of the user, in one file that nobody else can read. Each change replaces the file as a whole, under a lock
 * that other processes respect.
 */
export class LoginStore {
  readonly path: string;
  readonly #signal: AbortSignal;

  /** @throws Failure without a home directory */
  constructor({ io, signal }: Pick<Scope, "io" | "signal">) {
    const path = loginFile(io);
    if (path === undefined) throw usage("the folder of the logins is unknown", "set XDG_CONFIG_HOME or HOME");
    this.path = path;
    this.#signal = signal;
  }

  /** Returns all logins. @throws Failure if others can read the file, or it is damaged */
  all(): readonly Login[] {
    return Object.values(this.#read());
  }

  /** Stores a login in place of the one for the same agent, scheme and issuer. @throws Failure */
  put(login: Login): Promise<void> {
    return this.#change((logins) => ({ ...logins, [keyOf(login)]: login }));
  }

  /** Removes logins. @throws Failure */
  remove(removed: readonly Login[]): Promise<void> {
    const keys = new Set(removed.map(keyOf));
    return this.#change((logins) => Object.fromEntries(Object.entries(logins).filter(([key]) => !keys.has(key))));
  }

  /** Returns the tokens of a login as the client stores them. @param seen called with each secret */
  tokensOf(login: Login, seen: (secret: string) => void): OAuthStorage {
    const key = keyOf(login);
    const noted = (text: string | undefined): string | undefined => {
      const { accessToken, refreshToken } = readTokens(text) ?? {};
      for (const secret of [accessToken, refreshToken]) if (secret !== undefined) seen(secret);
      return text;
    };
    const change = (tokens: (before: Readonly<Record<string, string>>) => Readonly<Record<string, string>>) =>
      this.#change((logins) => {
        // A logout during the request wins.
        const before = logins[key];
        return before === undefined ? logins : { ...logins, [key]: { ...before, tokens: tokens(before.tokens ?? {}) } };
      });
    return {
      get: (name) => noted(this.#read()[key]?.tokens?.[name]),
      set: (name, text) => {
        noted(text);
        return change((tokens) => ({ ...tokens, [name]: text }));
      },
      delete: (name) => change(({ [name]: _gone, ...others }) => others),
      lock: (_name, work) => withFileLock(`${this.path}.${digest(key)}.lock`, work, this.#signal),
    };
  }

  #read(): Logins {
    const stats = statsOf(this.path);
    if (stats === undefined) return {};
    this.#check(stats);
    const json = parsedJson(readFileSync(this.path, "utf8"));
    if (!isRecord(json) || json.version !== 1 || !isRecord(json.logins)) {
      throw new Failure("A2ACLI_ERR_INTERNAL", `${this.path} is damaged.`, { hint: "remove it, and log in again" });
    }
    return Object.fromEntries(Object.entries(json.logins).filter(([, each]) => isLogin(each))) as unknown as Logins;
  }

  #check({ mode, uid, size }: Stats): void {
    if (process.getuid !== undefined && uid !== process.getuid()) {
      throw usage(`${this.path} belongs to another user`);
    }
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      throw usage(`${this.path} can be read by others, so its credentials are not used`, `chmod 600 ${this.path}`);
    }
    if (size > MAX_BYTES) throw usage(`${this.path} is larger than 1 MiB`);
  }

  #change(changed: (logins: Logins) => Logins): Promise<void> {
    const text = (): string => {
      const after = `${JSON.stringify({ version: 1, logins: changed(this.#read()) }, null, 2)}\n`;
      if (Buffer.byteLength(after) > MAX_BYTES) throw new Error(`${this.path} would be larger than 1 MiB`);
      return after;
    };
    return changeFile(this.path, text, "The login cannot be stored", this.#signal);
  }
}

/** True for a login of this version of the program. */
function isLogin(value: unknown): value is Login {
  if (!isRecord(value)) return false;
  const { agent, scheme, flow, origins } = value;
  return typeof agent === "string" && typeof scheme === "string" && flows.includes(flow as Flow) && isTexts(origins);
}

function statsOf(path: string): Stats | undefined {
  return attempt(() => statSync(path, { throwIfNoEntry: false }), usageOf(`${path} cannot be read: `));
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

export interface Validity {
  /** Milliseconds since 1970, infinite if the issuer does not say; undefined without a token. */
  readonly expiresAt: number | undefined;
  /** True if a new token is fetched without the user. */
  readonly isRenewed: boolean;
}

/** Returns how long a login lasts. */
export function validityOf({ flow, secret, tokens = {} }: Login): Validity {
  if (secret !== undefined) return { expiresAt: Number.POSITIVE_INFINITY, isRenewed: false };
  const all = Object.values(tokens).flatMap((text) => readTokens(text) ?? []);
  return {
    expiresAt: all.length === 0 ? undefined : Math.max(...all.map((each) => each.expiresAt)),
    isRenewed: flow === "client-credentials" || all.some(({ refreshToken }) => refreshToken !== undefined),
  };
}
