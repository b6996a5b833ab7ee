import { aBoolean, aText, aWholeNumber, type OptionChecks, oneOf, optionFaults } from "../../core/options.js";
import { StoreError } from "../task-store.js";
import { DEFAULT_SCHEMA, isSchema, readAddress, SCHEMA_NAMES } from "./address.js";
import type { Durability } from "./durability.js";

/** Levels of durability, the lowest first. */
export const LEVELS: readonly Durability[] = ["none", "local", "replicated"];

/** Options that an address may name. */
interface NamedOptions {
  readonly schema?: string;
  readonly require?: Durability;
  readonly prepared?: boolean;
  readonly connections?: number;
}

/** Checks of the options that an address may name. */
export const namedChecks: OptionChecks<NamedOptions> = {
  schema: aText(SCHEMA_NAMES, isSchema),
  require: oneOf(LEVELS),
  prepared: aBoolean(),
  connections: aWholeNumber(3, 1_000),
};

/** Returns the schema of an address, and the address for the driver. @throws StoreError `failed` for a wrong option */
export function schemaOf(address: string): { readonly url: string; readonly schema: string } {
  const { url, named } = readAddress(address);
  const faults = optionFaults(named, namedChecks);
  if (faults.length > 0) throw new StoreError("failed", `The address of the database is wrong: ${faults.join("; ")}.`);
  return { url, schema: named.schema ?? DEFAULT_SCHEMA };
}
