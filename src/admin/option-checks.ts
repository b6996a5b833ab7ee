import { isIP } from "node:net";
import { securityFaults } from "../auth/security.js";
import { isRecord, membersOf } from "../core/members.js";
import { isHostName } from "../core/net.js";
import * as check from "../core/options.js";
import type { AdminOptions } from "./options.js";
import { tokenFaults, tokensFileFaults } from "./tokens.js";

// Servers without an operator's service load this file, so it must not import the service.

/** The address on which the operator's service listens. */
export type AdminAddress = { readonly socket: string } | { readonly host: string; readonly port: number };

/** Maximum length of the path of a Unix socket in bytes, on every system. */
const MAX_SOCKET_PATH = 103;

/** Returns the address in `host:port` or `unix:` and a path; undefined for other texts. */
export function adminAddressOf(listen: string): AdminAddress | undefined {
  if (listen.startsWith("unix:")) {
    const socket = listen.slice("unix:".length);
    const isPath = socket !== "" && !socket.includes("\0") && Buffer.byteLength(socket) <= MAX_SOCKET_PATH;
    return isPath ? { socket } : undefined;
  }
  const [, bracketed, name = "", digits = ""] = /^(?:\[([^\]]+)\]|([^:\s[\]]+)):(\d{1,5})$/.exec(listen) ?? [];
  const [host, port] = [bracketed ?? name, Number(digits)];
  const isHost = bracketed === undefined ? isHostName(name) : isIP(bracketed) === 6;
  return isHost && port <= 65_535 ? { host, port } : undefined;
}

const checks: check.OptionChecks<AdminOptions> = {
  listen: check.aText(
    `host:port, such as 127.0.0.1:8081, or unix: and a path of at most ${MAX_SOCKET_PATH} bytes`,
    (text) => adminAddressOf(text) !== undefined,
  ),
  tokens: listFaults,
  tokensFile: tokensFileFaults,
  security: (place, given) => {
    // A declaration of an agent fits, although operators have no skills.
    const { skills: _skills, skillOf: _skillOf, ...known } = membersOf(given);
    return securityFaults(known).map((fault) => fault.replace(/^security/, place));
  },
  roles: check.anObjectOf({ read: check.aText(), write: check.aText() }, ["read", "write"]),
  backupFolder: (place, given) => folderFaults(place, given),
};

/** Checks the option `admin`. No fault contains a token. */
export function adminFaults(name: string, given: unknown): readonly string[] {
  const faults = check.anObjectOf(checks)(name, given);
  if (faults.length > 0) return faults;
  const { tokens, tokensFile, security, roles, listen } = membersOf(given);
  const ways = [tokens, tokensFile, security].filter((way) => way !== undefined);
  if (ways.length > 1) return [`${name} has more than one of tokens, tokensFile and security`];
  if ((security === undefined) !== (roles === undefined)) {
    return [`${name}.security and ${name}.roles need each other: a scope gives a caller its role`];
  }
  const isSocket = typeof listen === "string" && listen.startsWith("unix:");
  if (ways.length === 0 && !isSocket) {
    return [`${name} has no tokensFile (--admin-tokens), tokens or security: only a Unix socket may do without`];
  }
  return [];
}

function listFaults(place: string, given: unknown): readonly string[] {
  return check.listOf((at, token) =>
    isRecord(token) ? tokenFaults(token).map((fault) => `${at} ${fault}`) : [`${at} is not an object`],
  )(place, given);
}

function folderFaults(place: string, given: unknown): string[] {
  if (typeof given !== "string" || given === "") return [`${place} is not the path of a folder`];
  const isFolder = process.getBuiltinModule("node:fs").statSync(given, { throwIfNoEntry: false })?.isDirectory();
  return isFolder === true ? [] : [`${place} ${given} is not a folder that exists`];
}
