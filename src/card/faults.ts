/**
 * An error in the configuration of a server: options, tenants, a card, an address. It names all faults at once, each
 * with its place.
 */
export class ConfigurationError extends Error {
  override name = "ConfigurationError";
  /** One sentence without a full stop for each fault, beginning with its place, such as `skills[0].tags is empty`. */
  readonly faults: readonly string[];

  constructor(what: string, faults: readonly string[], cause?: unknown) {
    super(`${what}: ${faults.join("; ")}`, { cause });
    this.faults = faults;
  }
}
