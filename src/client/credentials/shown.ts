import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import type { CredentialContext, CredentialTarget } from "../credential.js";
import type { HttpClient } from "../platform.js";
import { scopesAskedFor } from "./challenge.js";
import type { Choice, ChosenScheme } from "./choose.js";
import { ownRefusal } from "./own-refusal.js";

/** What the credentials of one call are for. */
export interface ShownFor {
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
