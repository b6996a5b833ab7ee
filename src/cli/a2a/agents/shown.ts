import type { Context } from "../context.js";
import { field } from "../text.js";
import type { NamedAgent } from "./names.js";

/** Prints an agent of the address book. */
export function printAgent({ out }: Context, { name, agent }: NamedAgent): void {
  if (out.mode.isJson) return out.json({ name, agent });
  out.text(field("Name", name) + field("Agent", agent));
}
