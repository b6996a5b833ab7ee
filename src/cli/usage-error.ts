/** Something in the command line or the module it names that only whoever typed it can mend. */
export class UsageError extends Error {
  override name = "UsageError";
}
