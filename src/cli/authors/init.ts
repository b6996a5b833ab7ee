import { spawn } from "node:child_process";
import { existsSync, lstatSync, readdirSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { unknownName } from "../../core/options.js";
import { quoted } from "../../page/command.js";
import { CommandError, UsageError } from "../command-error.js";
import type { Io } from "../io.js";
import { type InitOptions, TEMPLATE_NAME, templates } from "./templates.js";

/** Answers to everything that `init` asks. */
interface Plan {
  readonly folder: string;
  readonly name: string;
  readonly template: string;
}

/**
 * Creates a project from a template, and prints the next commands.
 *
 * @throws UsageError for a name, template or folder that cannot be used; nothing is written then
 */
export async function init(io: Io, folder: string | undefined, options: InitOptions): Promise<void> {
  const { folder: target, name, template } = await plan(io, folder, options);
  checkFolder(target, { shown: shownFolder(io, target), force: options.force === true });
  const files = await filesOf(template, { name, spec: specOf(io, target, options.package) });
  const replaced = await writeFiles(target, files);
  for (const file of replaced) io.stderr.write(`parley: replaced ${file}\n`);
  io.stdout.write(`${name} is in ${shownFolder(io, target)} (template ${template}).\n`);
  if (options.install === true) await install(io, target);
  io.stdout.write(`\nNext:\n\n${nextCommands(io, target, options).join("\n")}\n`);
}

async function plan(io: Io, folder: string | undefined, options: InitOptions): Promise<Plan> {
  const given = options.template;
  if (given !== undefined && !Object.hasOwn(templates, given)) {
    const known = Object.keys(templates);
    throw new UsageError(`--template: ${unknownName("", given, known)}; there are ${known.join(", ")}`);
  }
  if (options.name !== undefined) checkName(options.name, "--name");
  const asks = options.yes !== true && io.stdin.isTTY === true && io.stderr.isTTY === true;
  if (asks) return ask(io, folder, options);
  const target = folder ?? options.name;
  if (target === undefined) throw new UsageError(`the folder is missing: ${io.program} init ${TEMPLATE_NAME} --yes`);
  if (given === undefined && options.yes !== true) {
    const known = Object.keys(templates).join(", ");
    throw new UsageError(`--template is required without a terminal: choose ${known}, or add --yes`);
  }
  return planned(io, target, { name: options.name, template: given ?? "plain" });
}

/** @throws UsageError for a folder whose name is not one of a package, unless `--name` gives one */
function planned(
  io: Io,
  folder: string,
  { name, template }: { readonly name: string | undefined; readonly template: string },
): Plan {
  const target = resolve(io.cwd, folder);
  if (name !== undefined) return { folder: target, name, template };
  const own = basename(target);
  checkName(own, "the folder's name", `add --name ${nameFor(own) ?? TEMPLATE_NAME}`);
  return { folder: target, name: own, template };
}

/** Asks on the terminal for values that the options do not set. @throws CommandError after Ctrl-C or Ctrl-D */
async function ask(io: Io, folder: string | undefined, { name, template }: InitOptions): Promise<Plan> {
  const lines = createInterface({ input: io.stdin, output: io.stderr });
  const stop = new AbortController();
  lines.once("close", () => stop.abort());
  lines.once("SIGINT", () => stop.abort());
  const question = async <T>(text: string, read: (answer: string) => T): Promise<T> => {
    while (true) {
      const answer = (await lines.question(text, { signal: stop.signal })).trim();
      try {
        return read(answer);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        io.stderr.write(`${error.message}\n`);
      }
    }
  };
  try {
    const own = folder === undefined ? undefined : nameFor(basename(resolve(io.cwd, folder)));
    const usual = own ?? TEMPLATE_NAME;
    const chosen =
      name ??
      (await question(`Name (${usual}): `, (answer) => {
        checkName(answer || usual, "the name");
        return answer || usual;
      }));
    const picked = template ?? (await question(menu(), templateIn));
    return planned(io, folder ?? chosen.replace(/^@.*\//, ""), { name: chosen, template: picked });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    io.stderr.write("\n");
    throw new CommandError("interrupted", "nothing was created");
  } finally {
    lines.close();
  }
}

function menu(): string {
  const rows = Object.entries(templates).map(([name, about], i) => `  ${i + 1}  ${name.padEnd(9)} ${about}\n`);
  return `Template:\n${rows.join("")}Number or name (1): `;
}

/** @throws UsageError */
function templateIn(answer: string): string {
  const known = Object.keys(templates);
  const found = answer === "" ? known[0] : (known[Number(answer) - 1] ?? known.find((each) => each === answer));
  if (found === undefined) throw new UsageError(`choose 1 to ${known.length}, or a name`);
  return found;
}

/** Dependency on this package: a path is relative to the new folder. @throws UsageError if it does not exist */
function specOf({ cwd, version }: Io, folder: string, given: string | undefined): string {
  if (given === undefined) return `^${version}`;
  if (!/[\\/]|^\.|\.tgz$/.test(given) || /^[a-z+]+:/.test(given)) return given;
  const path = resolve(cwd, given);
  if (!existsSync(path)) throw new UsageError(`--package: ${given} does not exist`);
  return `file:${relative(folder, path).replaceAll("\\", "/")}`;
}

function shownFolder({ cwd }: Io, folder: string): string {
  const path = relative(cwd, folder);
  return path === "" ? "this folder" : path;
}

/** Three commands that lead to a server. */
function nextCommands({ cwd }: Io, folder: string, { install }: InitOptions): string[] {
  const path = relative(cwd, folder);
  const enter = path === "" ? [] : [`cd ${/^[\w./-]+$/.test(path) ? path : quoted(path)}`];
  const all = [...enter, ...(install === true ? [] : ["npm install"]), "npm test", "npm run dev"];
  return (all.length > 3 ? all.filter((command) => command !== "npm test") : all).map((command) => `  ${command}`);
}

/** @throws CommandError if npm fails */
async function install({ env, stderr }: Io, cwd: string): Promise<void> {
  const shell = process.platform === "win32";
  // npm's settings for the script that runs this program must not apply to the new project.
  const own = /^npm_(config_(local_prefix|prefix|global_prefix)|package_.*|lifecycle_.*)$/i;
  const clean = Object.fromEntries(Object.entries(env).filter(([name]) => !own.test(name)));
  stderr.write("npm install …\n");
  const child = spawn("npm", ["install", "--no-audit", "--no-fund"], { cwd, env: clean, shell, stdio: [0, 2, 2] });
  const code = await new Promise<number | null>((ended, failed) => child.once("error", failed).once("close", ended));
  if (code !== 0) throw new CommandError("failed", `npm install ended with ${code}; the files are written`);
}

/** Maximum number of characters of a package's name, as npm allows. */
const MAX_LENGTH = 214;

/** Names that npm refuses, or that would hide a package of a template. */
const taken = new Set([
  "node_modules",
  "favicon.ico",
  ...["parley-a2a", "create-parley-a2a", "tsx", "typescript", "express", "fastify", "ai", "zod", "pino"],
]);

/**
 * Checks the name of a package.
 *
 * @param what the source of the name, for the error
 * @throws UsageError
 */
function checkName(name: string, what: string, remedy: string = "choose another one, such as my-agent"): void {
  const fault = faultOf(name);
  if (fault !== undefined) throw new UsageError(`${what}: ${JSON.stringify(name)} ${fault}: ${remedy}`);
}

function faultOf(name: string): string | undefined {
  if (taken.has(name)) return "is the name of another package";
  if (name.length > MAX_LENGTH) return `has more than ${MAX_LENGTH} characters`;
  if (/^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/.test(name)) return undefined;
  return "is not a name for npm (lower-case letters, digits, - . _)";
}

/** Returns a valid name like this one, or undefined. */
function nameFor(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+|-+$/g, "")
    .slice(0, MAX_LENGTH);
  return name === "" || faultOf(name) !== undefined ? undefined : name;
}

type Files = ReadonlyMap<string, string>;

/** Returns the folder of the templates, which is beside package.json; built files and sources lie at different depths. */
function templatesFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "templates", "plain"))) folder = dirname(folder);
  return join(folder, "templates");
}

/** Version of the package that has SQLite for Node.js before 22.13. */
const SQLITE = "^1.2.1";

/**
 * Returns the files of a template for a project.
 *
 * @param values the project's name, and the version or location of this package
 */
export async function filesOf(
  template: string,
  { name, spec }: { readonly name: string; readonly spec: string },
): Promise<Files> {
  const folder = join(templatesFolder(), template);
  const files = new Map<string, string>();
  for (const file of await readdir(folder)) {
    const text = (await readFile(join(folder, file), "utf8")).replaceAll(TEMPLATE_NAME, name);
    const own = nameOf(file);
    files.set(own, own === "package.json" ? manifest(text, spec) : text);
  }
  return files;
}

/** npm packs no `.gitignore`, and a package.json would make a package of the template. */
function nameOf(file: string): string {
  if (!file.startsWith("_")) return file;
  return file.endsWith(".json") || file.endsWith(".md") ? file.slice(1) : `.${file.slice(1)}`;
}

function manifest(text: string, spec: string): string {
  const parsed = JSON.parse(text) as { readonly dependencies: Readonly<Record<string, string>> };
  const sqlite = isBuiltin("node:sqlite") ? {} : { "@photostructure/sqlite": SQLITE };
  const { dependencies, ...others } = parsed;
  const all = Object.entries({ ...dependencies, ...sqlite, "parley-a2a": spec });
  const sorted = Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
  const members = Object.entries(others).flatMap((member) =>
    member[0] === "devDependencies" ? [["dependencies", sorted], member] : [member],
  );
  return `${JSON.stringify(Object.fromEntries(members), null, 2)}\n`;
}

/** Entries of a folder that count as nothing. */
const ignored = new Set([".git", ".DS_Store"]);

/**
 * Checks that a folder is new or empty; with `force` that it is a folder at least.
 *
 * @throws UsageError
 */
function checkFolder(folder: string, { shown, force }: { readonly shown: string; readonly force: boolean }): void {
  if (!existsSync(folder)) return;
  if (!lstatSync(folder).isDirectory()) throw new UsageError(`${shown} is not a folder: name another one`);
  const found = readdirSync(folder).find((name) => !ignored.has(name));
  if (found === undefined || force) return;
  throw new UsageError(`${shown} is not empty, it has ${found}: name another folder, or add --force`);
}

/**
 * Writes the files. @returns the names of those that were there before
 * @throws UsageError if one of them is a folder, or cannot be written
 */
async function writeFiles(folder: string, files: Files): Promise<readonly string[]> {
  const replaced: string[] = [];
  try {
    await mkdir(folder, { recursive: true });
    for (const [name, text] of files) {
      const path = join(folder, name);
      // A link is replaced and not followed.
      if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
        await rm(path);
        replaced.push(name);
      }
      await writeFile(path, text, { flag: "wx" });
    }
  } catch (cause) {
    throw new UsageError(`cannot write the files: ${(cause as Error).message}`, { cause });
  }
  return replaced;
}
