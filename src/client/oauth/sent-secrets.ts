/** Fields of requests to issuers that are not secret (RFC 6749, 7521, 8628, 8707). Any other field may be. */
const openFields: ReadonlySet<string> = new Set([
  "grant_type",
  "client_id",
  "scope",
  "resource",
  "audience",
  "redirect_uri",
  "client_assertion_type",
]);

/**
 * Secrets of one request to an issuer, in each form that the request has them in. An issuer that repeats them in an error would have
 * them shown in logs.
 */
export class SentSecrets {
  /** The longest first: one may be a part of another. */
  readonly #all: readonly string[];

  constructor(headers: Headers, body: string | undefined) {
    const [, basic = ""] = /^Basic +(\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
    const password = passwordIn(basic);
    const fields = [...new URLSearchParams(body)].filter(([name]) => !openFields.has(name)).map(([, value]) => value);
    const all = [basic, password, formDecoded(password), ...fields].flatMap((it) => [
      it,
      formEncoded(it),
      encodeURIComponent(it),
    ]);
    this.#all = [...new Set(all)].filter((it) => it !== "").sort((one, other) => other.length - one.length);
  }

  /** Returns a text with `***` for each secret. */
  masked(text: string): string {
    return this.#all.reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
  }

  /** Returns the texts of a JSON object masked; what is not JSON as it was, since no error shows it. */
  maskedJson(text: string): string {
    try {
      return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
        typeof value === "string" ? this.masked(value) : value,
      );
    } catch {
      return text;
    }
  }
}

/** RFC 7617: what is behind the first colon, as RFC 6749, 2.3.1 has it encoded. */
function passwordIn(basic: string): string {
  try {
    const text = atob(basic);
    return text.slice(text.indexOf(":") + 1);
  } catch {
    return "";
  }
}

const formEncoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1);
const formDecoded = (text: string): string => new URLSearchParams(`=${text}`).get("") ?? "";
