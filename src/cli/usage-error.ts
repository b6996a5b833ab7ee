/** A mistake in the command line, or in the module that it names, that only the user can correct. */
export class UsageError extends Error {
  override name = "UsageError";
}
