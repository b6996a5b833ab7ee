import { A2AError } from "../../core/error.js";
import { isLoopback } from "../hosts.js";
import type { CredentialContext } from "./credential.js";

/** A secret, or a function that returns the present one. It is called for each call: remember what takes long. */
export type Secret = string | ((ask: SecretAsk) => string | Promise<string>);

/** Arguments of a function that returns a secret. */
export interface SecretAsk {
  /** Scopes that the agent asks for. */
  readonly scopes: readonly string[];
  /** URL of the interface that is called. */
  readonly url: string;
  /** The server refused the last one: give another, if there is one. */
  readonly refused: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Options of all credentials that are sent. */
export interface SentOptions {
  /**
   * Sends it unencrypted too, where the URL of an agent begins with `http:`. Default: to this machine alone
   * (specification 13.4). For networks that encrypt by themselves.
   */
  readonly allowHttp?: boolean;
}

/** @throws A2AError where a secret would be sent so that others can read it. */
export function checkEncrypted(url: string, { allowHttp = false }: SentOptions = {}): void {
  const { protocol } = URL.canParse(url) ? new URL(url) : { protocol: "" };
  if (protocol === "https:" || allowHttp || (protocol === "http:" && isLoopback(url))) return;
  throw new A2AError(
    "UNAUTHENTICATED",
    `No credentials are sent unencrypted: the agent's URL is not https. (allowHttp)`,
  );
}

/** Remembers which secret each call has shown, so that a refusal of an old one does not take the new one away. */
export class ShownSecret {
  readonly #source: Secret;
  readonly #shown = new WeakMap<CredentialContext, string>();
  /** What a call shows next, since the last one was refused. */
  readonly #next = new WeakMap<CredentialContext, unknown>();

  constructor(source: Secret) {
    this.#source = source;
  }

  /** The secret for a call. A promise only where it is a function's. */
  get(context: CredentialContext): string | Promise<string> {
    return typeof this.#source === "string" ? this.#source : this.#given(context);
  }

  /** Whether there is another one than the call has shown. */
  async another(context: CredentialContext): Promise<boolean> {
    if (typeof this.#source !== "function") return false;
    const next = await this.#ask(context, true);
    if (next === this.#shown.get(context)) return false;
    this.#next.set(context, next);
    return true;
  }

  async #given(context: CredentialContext): Promise<string> {
    const secret = this.#next.has(context) ? this.#next.get(context) : await this.#ask(context, false);
    this.#next.delete(context);
    // Its text is nothing that an error may have in it, whatever is wrong with it.
    if (typeof secret !== "string") throw new A2AError("UNAUTHENTICATED", "The function of a credential gave no text.");
    this.#shown.set(context, secret);
    return secret;
  }

  async #ask({ scopes, url, signal }: CredentialContext, refused: boolean): Promise<unknown> {
    try {
      return await (this.#source as Exclude<Secret, string>)({ scopes, url, signal, refused });
    } catch (cause) {
      if (cause instanceof A2AError) throw cause;
      throw new A2AError("UNAUTHENTICATED", "The function of a credential failed.", { cause });
    }
  }
}

/** @throws TypeError for what is no secret. Functions are judged when they are called. */
export function checkSecret(name: string, secret: unknown, form: RegExp): void {
  if (typeof secret === "function") return;
  if (typeof secret !== "string" || secret === "") throw new TypeError(`${name} is no text`);
  if (!form.test(secret)) throw new TypeError(`${name} has characters that cannot be sent`);
}

/** @throws A2AError for a secret of a function that cannot be sent. What a header refuses it would tell in its error. */
export function checkForm(secret: string, form: RegExp): void {
  if (!form.test(secret)) throw new A2AError("UNAUTHENTICATED", "A credential has characters that cannot be sent.");
}

/** What a header can carry, without space at the ends (RFC 9110, 5.5). */
export const headerForm: RegExp = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
