import { existsSync, lstatSync, readdirSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { UsageError } from "../command-error.js";
import { TEMPLATE_NAME } from "./templates.js";

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
export function checkFolder(
  folder: string,
  { shown, force }: { readonly shown: string; readonly force: boolean },
): void {
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
export async function writeFiles(folder: string, files: Files): Promise<readonly string[]> {
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
