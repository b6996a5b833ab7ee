import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import type { HttpClient } from "../platform.js";
import type { Choice, ChosenScheme } from "./choose.js";
import type { CredentialContext, CredentialTarget } from "./credential.js";
import { ownRefusal } from "./own-refusal.js";

/** What the credentials of one call are for. */
interface ShownFor {
  readonly card: AgentCard;
  /** URL of the interface that is called, with `https:` or `http:`. */
  readonly url: string;
  readonly http: HttpClient;
  readonly signal: AbortSignal | undefined;
}

/** The credentials of one call: put there, and judged anew where the server refuses them. One for each call. */
export class ShownCredentials {
  readonly #unmet: string | undefined;
  readonly #all: readonly { readonly chosen: ChosenScheme; readonly context: CredentialContext }[];

  constructor({ schemes, unmet }: Choice, { card, url, http, signal }: ShownFor) {
    this.#unmet = unmet;
    this.#all = schemes.map((chosen) => {
      const { name, scheme, scopes } = chosen;
      return { chosen, context: { card, name, scheme, scopes, url, http, signal } };
    });
  }

  /** @throws A2AError UNAUTHENTICATED where the credentials do not do, or there are none to be had; or UNAVAILABLE. */
  async apply(target: CredentialTarget): Promise<void> {
    try {
      if (this.#unmet !== undefined) throw new A2AError("UNAUTHENTICATED", this.#unmet);
      for (const { chosen, context } of this.#all) {
        const put = chosen.credential.apply(target, context);
        if (put !== undefined) await put;
      }
    } catch (error) {
      throw ownRefusal(error);
    }
  }

  /**
   * Whether a refused call may do better with what `apply` puts there next: another token, or one with more scopes. Try once more then,
   * and not again: what is refused twice is refused.
   *
   * @throws A2AError where a credential cannot be renewed.
   */
  async again(error: A2AError): Promise<boolean> {
    const scopes = scopesAskedFor(error);
    if (error.reason !== "UNAUTHENTICATED" && scopes === undefined) return false;
    let again = false;
    for (const { chosen, context } of this.#all) {
      const { credential } = chosen;
      const better =
        scopes === undefined ? await credential.refused?.(context) : await credential.insufficient?.(context, scopes);
      again = better === true || again;
    }
    return again;
  }
}

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
