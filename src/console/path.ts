/** Path of the console below its mount. */
export const CONSOLE_PATH = "/console";

/** Returns the rest of a path of the console, or undefined for another path. */
export function consolePath(path: string): string | undefined {
  if (path === CONSOLE_PATH) return "";
  return path.startsWith(`${CONSOLE_PATH}/`) ? path.slice(CONSOLE_PATH.length) : undefined;
}
