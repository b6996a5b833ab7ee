import * as check from "../core/options.js";
import { folderFault } from "./folder.js";
import type { ConsoleOptions } from "./options.js";

const checks: check.OptionChecks<ConsoleOptions> = { local: check.aBoolean() };

/** Checks the option `console`, and that the web app has been built. */
export function consoleFaults(name: string, given: unknown): readonly string[] {
  if (given === false) return [];
  const faults = given === true ? [] : check.anObjectOf(checks)(name, given);
  const missing = faults.length > 0 ? undefined : folderFault();
  return missing === undefined ? faults : [`${name}: ${missing}`];
}
