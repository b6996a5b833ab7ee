import { A2AError } from "../../core/error.js";
import { isLoopback, parseUrl } from "../../core/net.js";
import { aBoolean, type OptionChecks, optionFaults } from "../../core/options.js";
import type { Credential, CredentialContext, CredentialTarget } from "./credential.js";

/** A secret, or a function that returns the current one. It is called for each call, so cache slow results. */
export type Secret = string | ((ask: SecretAsk) => string | Promise<string>);

/** Arguments of a function that returns a secret. */
export interface SecretAsk {
  /** Scopes that the agent requires. */
  readonly scopes: readonly string[];
  /** URL of the called interface. */
  readonly url: string;
  /** True if the server rejected the last secret: return another if possible. */
  readonly refused: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Options of all credentials that are sent. */
export interface SentOptions {
  /**
   * Allows unencrypted transport if the agent's URL begins with `http:`. Default: only to this machine (specification
   * 13.4). For networks with their own encryption.
   */
  readonly allowHttp?: boolean;
}

/** @throws A2AError if a secret would be sent in plain text */
export function checkEncrypted(url: string, { allowHttp = false }: SentOptions = {}): void {
  const { protocol } = parseUrl(url) ?? { protocol: "" };
  if (protocol === "https:" || allowHttp || (protocol === "http:" && isLoopback(url))) return;
  throw new A2AError(
    "UNAUTHENTICATED",
    `No credentials are sent unencrypted: the agent's URL is not https. (allowHttp)`,
  );
}

const checks: OptionChecks<SentOptions> = { allowHttp: aBoolean() };

/** @throws TypeError for invalid options, such as a switch that is a text: `"false"` would allow plain text */
export function checkSwitch(options: SentOptions): void {
  const [fault] = optionFaults(options, checks);
  if (fault !== undefined) throw new TypeError(fault);
}

/** Kind of a secret, and the way it is sent. */
interface SecretKind extends Pick<Credential, "fits"> {
  /** Name in errors, such as `The token`. */
  readonly name: string;
  readonly form: RegExp;
  put(target: CredentialTarget, secret: string, context: CredentialContext): void;
}

/** Returns the credential that sends a secret. @throws TypeError for one that cannot be sent */
export function secretCredential(given: Secret, kind: SecretKind, options: SentOptions): Credential {
  const { name, form, fits, put } = kind;
  checkSecret(name, given, form);
  checkSwitch(options);
  const secret = new ShownSecret(given);
  return {
    fits,
    apply: (target, context) => {
      checkEncrypted(context.url, options);
      const shown = secret.get(context);
      return typeof shown === "string" ? put(target, shown, context) : shown.then((it) => put(target, it, context));
    },
    refused: (context) => secret.another(context),
  };
}

/** Remembers the secret of each call, so that the rejection of an old one does not replace the current one. */
class ShownSecret {
  readonly #source: Secret;
  readonly #shown = new WeakMap<CredentialContext, string>();
  /** The secret of a call's retry. */
  readonly #next = new WeakMap<CredentialContext, unknown>();

  constructor(source: Secret) {
    this.#source = source;
  }

  /** Returns the secret for a call; a promise only if it comes from a function. */
  get(context: CredentialContext): string | Promise<string> {
    return typeof this.#source === "string" ? this.#source : this.#given(context);
  }

  /** True if another secret is available than the one this call sent. */
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
    // The secret's text must not appear in the error.
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

/** @throws TypeError for an invalid secret. Results of functions are checked when they are called. */
function checkSecret(name: string, secret: unknown, form: RegExp): void {
  if (typeof secret === "function") return;
  if (typeof secret !== "string" || secret === "") throw new TypeError(`${name} is not a text`);
  if (!form.test(secret)) throw new TypeError(`${name} has characters that cannot be sent`);
}

/**
 * @throws A2AError for a function's secret that cannot be sent. Checked here because the platform's error would contain
 * the secret.
 */
export function checkForm(secret: string, form: RegExp): void {
  if (!form.test(secret)) throw new A2AError("UNAUTHENTICATED", "A credential has characters that cannot be sent.");
}

/** Characters that a header can carry, without outer spaces (RFC 9110, 5.5). */
export const headerForm: RegExp = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
