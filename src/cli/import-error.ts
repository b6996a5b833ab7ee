import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inspect } from "node:util";

/** Time for a second Node.js to report the position of a syntax error, in milliseconds. */
const ASK_MS = 5_000;

/** The reason of a failed import, in one line with the file and line of the cause. */
export function describeImportError(cause: unknown, file: string): string {
  if (!(cause instanceof Error)) return `it threw ${inspect(cause, { depth: 1, breakLength: Infinity })}`;
  const { code, name, message } = cause as NodeJS.ErrnoException;
  if (code === "ERR_UNKNOWN_FILE_EXTENSION") return "it is not JavaScript or TypeScript";
  const missing = code === "ERR_MODULE_NOT_FOUND" ? describeMissing(message) : undefined;
  if (missing !== undefined) return missing;
  // esbuild, inside tsx: "Transform failed with 1 error:\n/path/agent.ts:1:18: ERROR: Unexpected …".
  const [, at, line, what] = /^(\S.*?):(\d+):\d+: ERROR: (.*)$/m.exec(message) ?? [];
  if (at !== undefined) return `${what} (${shown(at)}:${line})`;
  const place = placeIn(cause.stack ?? "") ?? (name === "SyntaxError" ? placeFromNode(file) : undefined);
  return place === undefined ? message : `${message} (${place})`;
}

/** Node.js names the file that has the failing import; the line is searched in it. */
function describeMissing(message: string): string | undefined {
  const [, what, name = "", at] = /^(Cannot find (?:package|module) '(.+?)') imported from (.+)$/m.exec(message) ?? [];
  if (at === undefined) return undefined;
  const importer = at.startsWith("file:") ? fileURLToPath(at.split("?", 1)[0] ?? at) : at;
  const line = importOf(name, importer);
  return `${what} (${shown(importer)}${line === undefined ? "" : `:${line}`})${typeScriptHint(name)}`;
}

/** TypeScript imports `./other.ts` as `./other.js`, which Node.js does not find by itself. */
function typeScriptHint(name: string): string {
  const source = name.replace(/\.([cm]?)js$/, ".$1ts");
  if (source === name || !existsSync(source)) return "";
  return `: import ${shown(source)} by that name, or install tsx beside it (npm install tsx)`;
}

/** Returns the line of a file that imports a package or path; undefined if no line contains the whole import. */
function importOf(name: string, importer: string): number | undefined {
  const isMeant = (text: string): boolean =>
    text === name || text.startsWith(`${name}/`) || resolve(dirname(importer), text) === name;
  try {
    const lines = readFileSync(importer, "utf8").split("\n");
    const at = lines.findIndex(
      (line) =>
        /\b(?:import|from|require)\b/.test(line) &&
        [...line.matchAll(/(["'`])(.+?)\1/g)].some(([, , text = ""]) => isMeant(text)),
    );
    return at < 0 ? undefined : at + 1;
  } catch {
    return undefined;
  }
}

/** Returns the first place in a stack trace outside Node.js and installed packages. */
function placeIn(stack: string): string | undefined {
  const lines = stack.split("\n");
  const head = /^((?:file:\/\/|\/|[A-Z]:\\).*):(\d+)$/.exec(lines[0] ?? "");
  const frames = lines.flatMap((line) => {
    const frame = /^ +at .*?((?:file:\/\/|\/|[A-Z]:\\)[^()]*):(\d+):\d+\)?$/.exec(line);
    return frame === null || /[\\/]node_modules[\\/]|\(?node:/.test(line) ? [] : [frame];
  });
  const own = import.meta.url.replace(/[^/]+$/, "");
  const [, at, line] = head ?? frames.find(([, at = ""]) => !at.startsWith(own)) ?? [];
  return at === undefined ? undefined : `${shown(at)}:${line}`;
}

/**
 * Finds the place of a syntax error. Node.js prints it only for an uncaught error, so a second process imports the
 * module. No code of the module runs there, because Node.js parses and links all modules before it executes the first.
 */
function placeFromNode(file: string): string | undefined {
  const script = `await import(${JSON.stringify(pathToFileURL(file).href)})`;
  const args = [...process.execArgv, "--input-type=module", "--eval", script];
  const { stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: ASK_MS });
  return stderr ? placeIn(stderr.trimStart()) : undefined;
}

/** Returns a path inside the current directory as a relative one. */
function shown(at: string): string {
  const path = at.startsWith("file:") ? fileURLToPath(at.split("?", 1)[0] ?? at) : at;
  const here = relative(process.cwd(), path);
  return here.startsWith("..") || here === "" ? path : here;
}
