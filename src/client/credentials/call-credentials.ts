import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import type { HttpClient } from "../platform.js";
import type { Choice, ChosenScheme } from "./choose.js";
import type { CredentialContext, CredentialTarget } from "./credential.js";
import { ownRefusal } from "./own-refusal.js";

/** Context of one call's credentials. */
interface CallContext {
  readonly card: AgentCard;
  /** URL of the called interface, with `https:` or `http:`. */
  readonly url: string;
  readonly http: HttpClient;
  readonly signal: AbortSignal | undefined;
}

/** The credentials of one call: applies them, and renews them after a rejection. */
export class CallCredentials {
  readonly #unmet: string | undefined;
  readonly #all: readonly { readonly chosen: ChosenScheme; readonly context: CredentialContext }[];

  constructor({ schemes, unmet }: Choice, { card, url, http, signal }: CallContext) {
    this.#unmet = unmet;
    this.#all = schemes.map((chosen) => {
      const { name, scheme, scopes } = chosen;
      return { chosen, context: { card, name, scheme, scopes, url, http, signal } };
    });
  }

  /** @throws A2AError UNAUTHENTICATED if the credentials do not suffice or cannot be obtained; UNAVAILABLE */
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
   * Tells whether a rejected call should be retried because the next `apply` will add another token, or one with more
   * scopes. Retry only once.
   *
   * @throws A2AError if a credential cannot be renewed
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

/** Maximum number of scopes in a challenge, since the answer is untrusted. */
const MAX_SCOPES = 64;
/** A token, and its value if it is the name of a parameter (RFC 9110, 11.2). */
const piece = /([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/g;
/** RFC 6749, 3.3. */
const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/**
 * Returns the scopes that a rejected call lacks (RFC 6750, 3.1: `insufficient_scope`), from `WWW-Authenticate` or, if
 * the header did not arrive, from the error's metadata. Undefined for other errors.
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
