import { join } from "node:path";
import type { Io } from "../io.js";

/** Folder of the user's settings, logins and address book, whether it exists or not; undefined without a home directory. */
export function configFolder({ env, home }: Io): string | undefined {
  const folder = env.XDG_CONFIG_HOME || (home === undefined ? undefined : join(home, ".config"));
  return folder === undefined ? undefined : join(folder, "a2a-cli");
}
