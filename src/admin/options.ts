import type { AgentSecurity } from "../auth/security.js";
import type { Role } from "./methods.js";

/** A token of an operator: the token itself, or its SHA-256 in hex. */
export interface AdminToken {
  /** Name of the operator, for the logs: letters, digits, `.`, `_`, `@` and `-`, at most 64. */
  readonly name: string;
  readonly role: Role;
  /** At least 32 characters of `A-Z`, `a-z`, `0-9` and `-._~+/=`, such as 32 random bytes as base64. */
  readonly token?: string;
  readonly sha256?: string;
}

/** Scopes of callers of a declared scheme, by the role that they give. */
export interface AdminRoles {
  readonly read: string;
  readonly write: string;
}

/** Ways to authenticate operators: one of `tokens`, `tokensFile` and `security`. */
export interface AdminAccessOptions {
  readonly tokens?: readonly AdminToken[];
  /**
   * File of tokens. A line has a name, a role (`read` or `write`) and a token, or `sha256:` and the token's SHA-256 in
   * hex; `#` begins a comment. Users outside the file's group must not be able to read it. A changed file is read
   * again; if it is invalid, the previous tokens stay in use.
   */
  readonly tokensFile?: string;
  /** Schemes as agents declare them, with `roles`. */
  readonly security?: Pick<AgentSecurity, "schemes" | "require">;
  /** Scopes that give a role, for `security`. */
  readonly roles?: AdminRoles;
}

/** Options of the operator's service. */
export interface AdminOptions extends AdminAccessOptions {
  /**
   * Address to listen on: `host:port`, or `unix:` and the path of a socket. Only the user of the server may open the
   * socket. Over a socket without tokens or `security`, each user who may open it is an operator with the role `write`.
   * Over TCP one of them is required. `createServer` needs an address; `createA2A` has none.
   */
  readonly listen?: string;
  /** Folder for backups that operators make; it must exist. Default: none may be made. */
  readonly backupFolder?: string;
}
