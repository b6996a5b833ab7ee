/** Headers of several calls, which no call modifies. */
export class SharedHeaders extends Map<string, string> {
  #form: unknown;

  /** The form to which the HTTP client converted them. */
  get form(): unknown {
    return this.#form;
  }

  /** Keeps a form for the next call. */
  keep(form: unknown): void {
    this.#form = form;
  }
}
