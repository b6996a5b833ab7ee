import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Agent } from "../agent/agent.js";
import { membersOf } from "../core/members.js";
import { nearest } from "../core/options.js";
import { optionTable } from "../server/option-table.js";
import type { UncheckedOptions } from "../server/options.js";
import { UsageError } from "./command-error.js";
import { noteEndWhileLoading } from "./exit.js";
import { describeImportError } from "./import-error.js";

/** Contents of a module for a server. */
interface AgentModule {
  /** Its agents and options. */
  readonly options: Partial<UncheckedOptions>;
  /** Exports that look like typing mistakes, as sentences. */
  readonly warnings: readonly string[];
}

/**
 * Loads a module and reads its agents and options: an agent as `default` or `agent`, or several by tenant as `agents`;
 * options of `createServer` as exports with their names, or together as `options`.
 *
 * @throws UsageError if the file does not exist, cannot be loaded, or exports no agent.
 */
export async function loadAgentModule(given: string): Promise<AgentModule> {
  const path = existingName(given);
  if (path === undefined) throw new UsageError(`the agent module ${given} does not exist`);
  const file = resolve(path);
  const exports = await load(path, file);
  checkOptions(path, exports.options);
  const isDefaultAgent = isMeantAsAgent(exports.default);
  const together = [exports.options, isDefaultAgent ? undefined : exports.default].filter(isObject);
  const named = Object.entries(exports).filter(([name]) => Object.hasOwn(optionTable, name));
  const options: Record<string, unknown> = {};
  for (const [name, value] of [...named, ...together.flatMap(Object.entries)]) {
    if (Object.hasOwn(options, name) && options[name] !== value) {
      throw new UsageError(`${path} gives the option ${name} twice: as an export, and among its options`);
    }
    options[name] = value;
  }
  if (isDefaultAgent) {
    delete options.agent;
    if (options.agents === undefined) options.agent = exports.default;
  }
  if (![options.agent, ...Object.values(options.agents ?? {})].some(isMeantAsAgent)) {
    throw new UsageError(
      `${path} exports no agent: export it as "default" or "agent", or several by tenant as "agents"`,
    );
  }
  refuseUnprotected(path, exports, options);
  return { options: options as Partial<UncheckedOptions>, warnings: warningsIn(path, exports) };
}

/** As in imports of TypeScript, the name of a JavaScript file also finds its source. The files in deploy/ rely on it. */
function existingName(path: string): string | undefined {
  return [path, path.replace(/\.([cm]?)js$/, ".$1ts")].find((name) => existsSync(name));
}

async function load(path: string, file: string): Promise<Record<string, unknown>> {
  if (/\.[cm]?tsx?$/.test(file)) await prepareTypeScript(path, file);
  const loaded = noteEndWhileLoading(path);
  try {
    return membersOf(await import(pathToFileURL(file).href));
  } catch (cause) {
    throw new UsageError(`the agent module ${path} cannot be loaded: ${describeImportError(cause, file)}`, { cause });
  } finally {
    loaded();
  }
}

/**
 * Rejects an export `options` that is not an object: ignoring it could drop an authenticator.
 *
 * @throws UsageError
 */
function checkOptions(path: string, options: unknown): void {
  if (options === undefined || (isObject(options) && !("then" in options))) return;
  const what = isObject(options) ? "a promise: await it" : `a ${typeof options} and not an object`;
  throw new UsageError(`${path} exports options that are ${what}`);
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** True for a value that is meant as an agent; the server reports missing parts. */
function isMeantAsAgent(value: unknown): value is Agent {
  return isObject(value) && ("execute" in value || "card" in value);
}

/** Options that restrict callers. */
const protecting = ["authenticator", "ownerOf", "interceptors", "allowedHosts", "trustProxy"];

/** Card fields that come from `security`. */
const ofSecurity = ["security", "securitySchemes", "securityRequirements"];

/** Maximum edit distance of an export from one of these names. */
const MAX_SLIPS = 2;

/**
 * Rejects a module that seems to declare access rules in a place without effect: such a server would be open. An export
 * that the agent or an option uses is accepted.
 *
 * @throws UsageError that names the export and the right place
 */
function refuseUnprotected(path: string, exports: Record<string, unknown>, options: Record<string, unknown>): void {
  const agents = [options.agent, ...Object.values(options.agents ?? {})].filter(isObject);
  const used = new Set([...agents, options].flatMap((each) => Object.values(membersOf(each))));
  for (const [name, value] of Object.entries(exports)) {
    if (Object.hasOwn(optionTable, name) || used.has(value)) continue;
    const near = nearest(name, [...protecting, ...ofSecurity], MAX_SLIPS);
    if (near === undefined) continue;
    throw new UsageError(
      ofSecurity.includes(near)
        ? `${path} exports ${name}, which protects nothing there: put it on the agent, as its field security`
        : `${path} exports ${name}, which is not an option: did you mean ${near}?`,
    );
  }
}

/** Warns of exports whose name is close to that of an option. */
function warningsIn(path: string, exports: Record<string, unknown>): string[] {
  const known = ["options", ...Object.keys(optionTable)];
  return Object.keys(exports).flatMap((name) => {
    const near = known.includes(name) || name.length < 5 ? undefined : nearest(name, known);
    return near === undefined ? [] : [`${path} exports ${name}, which is not an option: did you mean ${near}?`];
  });
}

/**
 * Registers `tsx` as the loader of TypeScript modules, if the module's project or the current directory has it. Without
 * tsx, Node.js 22.18 and later import TypeScript, but do not find `./other.ts` as `./other.js`.
 *
 * @throws UsageError with instructions, if neither can load TypeScript.
 */
async function prepareTypeScript(path: string, file: string): Promise<void> {
  // A loader that was given to Node.js can load TypeScript too.
  const hasLoader = process.execArgv.some((argument) => /^--(import|loader|experimental-loader)\b/.test(argument));
  if (hasLoader || process.env.NODE_OPTIONS?.includes("tsx") === true) return;
  const tsx = tsxFor([file, join(process.cwd(), "module.js")]);
  if (tsx === undefined) {
    if (membersOf(process.features).typescript) return;
    throw new UsageError(
      `${path} is TypeScript, which Node.js ${process.versions.node} does not run by itself: ` +
        "use Node.js 22.18 or later, or install tsx beside it (npm install tsx)",
    );
  }
  const { register } = (await import(pathToFileURL(tsx).href)) as { register(): unknown };
  register();
}

/** The file of tsx for `import`; `require` would find another one. */
function tsxFor(places: readonly string[]): string | undefined {
  for (const place of places) {
    try {
      const manifest = createRequire(place).resolve("tsx/package.json");
      const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as TsxManifest;
      return join(dirname(manifest), exports["./esm/api"].import.default);
    } catch {
      // Try the next place.
    }
  }
  return undefined;
}

interface TsxManifest {
  readonly exports: { readonly "./esm/api": { readonly import: { readonly default: string } } };
}
