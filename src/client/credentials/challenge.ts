import type { A2AError } from "../../core/error.js";

/** Scopes that are asked for at most: an answer is what somebody else wrote. */
const MAX_SCOPES = 64;
/** A token, and what follows it where it is the name of a parameter (RFC 9110, 11.2). */
const piece = /([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/g;
/** RFC 6749, 3.3. */
const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/**
 * The scopes that a refused call would need (RFC 6750, 3.1: `insufficient_scope`), as `WWW-Authenticate` names them, or the error's
 * facts where the header did not arrive. Undefined for an error that asks for none.
 */
export function scopesAskedFor({ reason, headers, metadata }: A2AError): readonly string[] | undefined {
  if (reason !== "PERMISSION_DENIED") return undefined;
  const asked = challenges(headers.get("www-authenticate") ?? "")
    .filter(({ scheme, parameters }) => scheme === "bearer" && parameters.get("error") === "insufficient_scope")
    .map(({ parameters }) => parameters.get("scope") ?? "");
  const scopes = [...new Set([...asked, metadata.scope ?? ""].join(" ").split(" "))].filter((it) => scopeForm.test(it));
  return scopes.length === 0 || scopes.length > MAX_SCOPES ? undefined : scopes;
}

interface ReceivedChallenge {
  /** In lower case. */
  readonly scheme: string;
  readonly parameters: Map<string, string>;
}

function challenges(header: string): ReceivedChallenge[] {
  const all: ReceivedChallenge[] = [];
  for (const [, name = "", quoted, plain] of header.matchAll(piece)) {
    const value = quoted?.replace(/\\(.)/g, "$1") ?? plain;
    if (value === undefined) all.push({ scheme: name.toLowerCase(), parameters: new Map() });
    else all.at(-1)?.parameters.set(name.toLowerCase(), value);
  }
  return all;
}
