/** Runs npm from a script: the npm that runs the script, or the one in the PATH. */
import { spawnSync } from "node:child_process";

/** @param options of `spawnSync` */
export function npm(args, cwd, options = {}) {
  const program = process.env.npm_execpath;
  const all = { cwd, env: withoutNpm(process.env), ...options };
  if (program?.endsWith(".js")) return spawnSync(process.execPath, [program, ...args], all);
  // It is a script of the shell on Windows.
  return spawnSync("npm", args, { ...all, shell: process.platform === "win32" });
}

/** The environment without what npm tells its scripts, which an npm in another folder would take for its own settings. */
export function withoutNpm(env) {
  const own = /^npm_(config_(local_prefix|prefix|global_prefix|ignore_scripts)|package_.*|lifecycle_.*)$/i;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.test(name)));
}
