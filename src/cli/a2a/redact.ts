/** Shortest credential that is searched for in texts: shorter ones occur everywhere. */
const MIN_LENGTH = 4;

/** Replaces the credentials of a run in diagnostics, in each form in which a message or URL can contain them. */
export class Redactor {
  readonly #forms = new Set<string>();

  add(secret: string | undefined): void {
    if (secret === undefined || secret.length < MIN_LENGTH) return;
    const base64 = Buffer.from(secret).toString("base64");
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64]) {
      this.#forms.add(form);
    }
    const query = new URLSearchParams({ k: secret }).toString().slice(2);
    this.#forms.add(query);
    // The credentials alone appear without their scheme as well.
    const [, credentials] = /^[A-Za-z-]+ +(.+)$/.exec(secret) ?? [];
    if (credentials !== undefined) this.add(credentials);
  }

  /** Returns the text without credentials. */
  text(text: string): string {
    let result = text;
    // The longest first, because one may contain another.
    for (const form of [...this.#forms].toSorted((one, other) => other.length - one.length)) {
      result = result.replaceAll(form, "[redacted]");
    }
    return result;
  }
}
