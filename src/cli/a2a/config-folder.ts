import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Io } from "../io.js";

/** Folder of the user's settings, logins and address book, whether it exists or not; undefined without a home directory. */
export function configFolder({ env, home }: Pick<Io, "env" | "home">): string | undefined {
  const folder = env.XDG_CONFIG_HOME || (home === undefined ? undefined : join(home, ".config"));
  return folder === undefined ? undefined : join(folder, "a2a-cli");
}

/** Returns the path of the file of logins; undefined without a home directory. */
export function loginFile(io: Pick<Io, "env" | "home">): string | undefined {
  const folder = configFolder(io);
  return folder === undefined ? undefined : join(folder, "credentials.json");
}

/** True if there are logins, whose code is loaded only then. */
export function hasLogins(io: Pick<Io, "env" | "home">): boolean {
  const path = loginFile(io);
  return path !== undefined && existsSync(path);
}
