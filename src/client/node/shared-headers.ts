/** Headers of several calls, which no call modifies. */
export class SharedHeaders extends Map<string, string> {
  /** The form to which the HTTP client converted them, for the next call. */
  form: unknown;
}
