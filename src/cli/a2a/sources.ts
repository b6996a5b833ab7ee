import { readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { attempt } from "../../core/members.js";
import { parseUrl } from "../../core/net.js";
import type { Io } from "../io.js";
import { withoutName } from "./agents/names.js";
import { configFolder } from "./config-folder.js";
import { usage, usageOf } from "./errors.js";
import {
  otherVariables,
  type Setting,
  type SettingName,
  settingRows,
  settings,
  type Values,
  variableOf,
} from "./settings.js";

/** An option on the command line, by its flag without `--`. */
export interface GivenFlag {
  readonly name: string;
  /** True for a boolean. */
  readonly value: string | true;
}

/** Origins of a value, strongest first. */
export const origins = ["flag", "env", "local-file", "global-file", "default"] as const;

export interface Source {
  readonly kind: (typeof origins)[number];
  readonly path?: string;
  readonly line?: number;
}

/** The settings of one run, with their origins. */
export interface Resolved {
  readonly values: Values;
  readonly sources: Readonly<Record<SettingName, Source>>;
  /** Variables of single commands, from the environment or a file. */
  readonly others: Readonly<Record<string, string>>;
  /** Lines for stderr. */
  readonly warnings: readonly string[];
}

interface Found {
  readonly texts: readonly string[];
  readonly source: Source;
  /** Name of the origin, for errors. */
  readonly where: string;
}

/** The value of a name, and its line. */
type Entries = ReadonlyMap<string, { readonly value: string; readonly line: number }>;

interface ConfigFile {
  readonly path: string;
  readonly kind: "local-file" | "global-file";
  readonly entries: Entries;
}

/**
 * Reads all settings: flags before variables, the local file, the global file and the defaults.
 *
 * @throws Failure for a value that is not valid, and for flags that exclude each other
 */
export function resolveSettings(io: Io, given: readonly GivenFlag[]): Resolved {
  const warnings: string[] = [];
  const files = withAgentFile(configFiles(io, given, warnings), io, given, warnings);
  const values: Record<string, unknown> = {};
  const sources: Partial<Record<SettingName, Source>> = {};
  for (const [name, setting] of settingRows) {
    const found = find(setting, given, io, files);
    sources[name] = found?.source ?? { kind: "default" };
    values[name] = found === undefined ? setting.otherwise : read(setting, found);
  }
  warnings.push(...unknownNames(io, files));
  const others = Object.fromEntries(otherVariables.flatMap((name) => otherValue(name, io, files) ?? []));
  return withoutClashes({
    values: values as unknown as Values,
    sources: sources as Record<SettingName, Source>,
    others,
    warnings,
  });
}

function otherValue(name: string, { env }: Io, files: readonly ConfigFile[]): [[string, string]] | undefined {
  const value = env[name] || files.map(({ entries }) => entries.get(name)?.value).find((each) => each);
  return value === undefined || value === "" ? undefined : [[name, value]];
}

function find(
  setting: Setting<unknown>,
  given: readonly GivenFlag[],
  io: Io,
  files: readonly ConfigFile[],
): Found | undefined {
  const names = [setting.flag, ...(setting.aliases ?? [])].map((flag) => flag.slice(2));
  const flags = given.filter(({ name }) => names.includes(name));
  if (flags.length > 0) {
    const texts = flags.map(({ value }) => (value === true ? "true" : value));
    return { texts, source: { kind: "flag" }, where: `--${flags.at(-1)?.name}` };
  }
  const variable = variableOf(setting);
  if (variable === undefined) return undefined;
  const value = io.env[variable];
  if (value !== undefined && value !== "") {
    return { texts: split(value, setting), source: { kind: "env" }, where: variable };
  }
  for (const { path, kind, entries } of files) {
    const entry = entries.get(variable);
    if (entry === undefined || entry.value === "") continue;
    const { line } = entry;
    const where = `${path}:${line}: ${variable}`;
    return { texts: split(entry.value, setting), source: { kind, path, line }, where };
  }
  return undefined;
}

function split(value: string, { separator = "" }: Setting<unknown>): readonly string[] {
  return separator === "" ? [value] : value.split(separator).filter((part) => part.trim() !== "");
}

function read(setting: Setting<unknown>, { texts, where }: Found): unknown {
  const shown = setting.isSecret === true ? "the value" : JSON.stringify(texts.join(" "));
  return attempt(() => setting.read(texts), usageOf(`${where}: ${shown} `));
}

function configFiles(io: Io, given: readonly GivenFlag[], warnings: string[]): ConfigFile[] {
  const explicit = given.findLast(({ name }) => name === "config")?.value;
  const local = typeof explicit === "string" ? explicitFile(resolve(io.cwd, explicit)) : nearestFile(io.cwd, warnings);
  const folder = configFolder(io);
  const global = folder === undefined ? undefined : openFile(join(folder, ".env"), "global-file");
  const files = [local, global].filter((file) => file !== undefined);
  for (const file of files) warnings.push(...warningsAbout(file));
  const [trusted] = local === undefined || typeof explicit === "string" ? [local] : [withoutRisks(local, io, warnings)];
  return [trusted, global].filter((file) => file !== undefined);
}

/**
 * Adds the file of the chosen agent's host, `agents/<host>.env` in the user's folder. It is stronger than the user's
 * general file, and cannot name another agent.
 */
function withAgentFile(
  files: readonly ConfigFile[],
  io: Io,
  given: readonly GivenFlag[],
  warnings: string[],
): readonly ConfigFile[] {
  const folder = configFolder(io);
  const rows: readonly Setting<unknown>[] = [settings.agentCard, settings.endpoint] as never;
  const found = rows.flatMap((row) => find(row, given, io, files) ?? []);
  const [chosen] = found.toSorted((one, other) => rankOf(one.source) - rankOf(other.source));
  const host = chosen === undefined ? undefined : hostIn(withoutName(io, chosen.texts.at(-1) ?? ""));
  if (folder === undefined || host === undefined) return files;
  const file = openFile(join(folder, "agents", `${host}.env`), "global-file");
  if (file === undefined) return files;
  warnings.push(...warningsAbout(file));
  const entries = new Map([...file.entries].filter(([name]) => !agentVariables.includes(name)));
  const isLocal = ({ kind }: ConfigFile): boolean => kind === "local-file";
  return [...files.filter(isLocal), { ...file, entries }, ...files.filter((each) => !isLocal(each))];
}

const rankOf = ({ kind }: Source): number => origins.indexOf(kind);

/** Variables that name the agent. */
const agentVariables: readonly string[] = ["A2ACLI_AGENT_CARD", "A2ACLI_ENDPOINT"];

/** Returns the host and port in a reference, as in the name of a file; undefined for a file. */
function hostIn(ref: string): string | undefined {
  if (/^[./~]/.test(ref)) return undefined;
  const url = parseUrl(ref.includes("://") ? ref : `https://${ref}`);
  return url === undefined || url.host === "" ? undefined : url.host.replaceAll(/[:[\]]/g, "_");
}

function explicitFile(path: string): ConfigFile {
  const file = openFile(path, "local-file");
  if (file === undefined) throw usage(`--config: ${path} cannot be read`);
  return file;
}

/** Finds `.env` in the working directory or above. One of another user is not read. */
function nearestFile(cwd: string, warnings: string[]): ConfigFile | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, ".env");
    const stats = statsOf(path);
    if (stats?.isFile() === true) {
      if (process.getuid === undefined || stats.uid === process.getuid()) return openFile(path, "local-file");
      warnings.push(`${path} belongs to another user and is ignored`);
      return undefined;
    }
    if (dirname(folder) === folder) return undefined;
  }
}

function openFile(path: string, kind: ConfigFile["kind"]): ConfigFile | undefined {
  const text = attempt(() => readFileSync(path, "utf8"));
  return text === undefined ? undefined : { path, kind, entries: readEnvFile(text, path) };
}

const statsOf = (path: string): Stats | undefined => attempt(() => statSync(path));

const secretVariables = [
  ...settingRows.flatMap(([, row]) => (row.isSecret === true ? [variableOf(row) ?? ""] : [])),
  "A2ACLI_CLIENT_SECRET",
];

function warningsAbout({ path, entries }: ConfigFile): string[] {
  const mode = statsOf(path)?.mode ?? 0;
  const isOpen = process.platform !== "win32" && (mode & 0o044) !== 0;
  if (!isOpen || !secretVariables.some((name) => entries.has(name))) return [];
  return [`${path} has credentials and can be read by others: chmod 600 ${path}`];
}

/**
 * Removes settings that weaken TLS, and warns of an agent that the file names: a file that was found by its place may
 * come with a cloned repository.
 */
function withoutRisks(file: ConfigFile, io: Io, warnings: string[]): ConfigFile {
  const entries = new Map(file.entries);
  for (const name of ["A2ACLI_INSECURE", "A2ACLI_CA"]) {
    if (entries.delete(name)) warnings.push(`${name} in ${file.path} is ignored: use the flag`);
  }
  const namesAgent = agentVariables.some((name) => entries.has(name) && !io.env[name]);
  const hasSecret = secretVariables.some((name) => entries.has(name));
  const hasOther = secretVariables.some((name) => io.env[name]);
  if (namesAgent && !hasSecret && hasOther) {
    warnings.push(`${file.path} names the agent that receives credentials of other origin`);
  }
  return { ...file, entries };
}

const knownVariables = new Set<string>([...settingRows.flatMap(([, row]) => variableOf(row) ?? []), ...otherVariables]);

function unknownNames(io: Io, files: readonly ConfigFile[]): string[] {
  const isUnknown = (name: string): boolean => name.startsWith("A2ACLI_") && !knownVariables.has(name);
  const ofFiles = files.flatMap(({ path, entries }) =>
    [...entries]
      .filter(([name]) => isUnknown(name))
      .map(([name, { line }]) => `${path}:${line}: ${name} is not a setting`),
  );
  const ofEnvironment = Object.keys(io.env)
    .filter(isUnknown)
    .map((name) => `${name} is not a setting`);
  return [...ofFiles, ...ofEnvironment];
}

/** Pairs that exclude each other. Of two that are not both flags, the one of the stronger origin applies. */
const clashes: readonly (readonly [SettingName, SettingName])[] = [
  ["agentCard", "endpoint"],
  ["wait", "async"],
  ["stream", "async"],
];

function withoutClashes({ values, sources, ...rest }: Resolved): Resolved {
  const kept: Record<string, unknown> = { ...values };
  for (const [one, other] of clashes) {
    if (!kept[one] || !kept[other]) continue;
    const [first, second] = [rankOf(sources[one]), rankOf(sources[other])];
    if (first === second) {
      throw usage(`${settings[one].flag} and ${settings[other].flag} exclude each other`);
    }
    const weaker = first < second ? other : one;
    kept[weaker] = settings[weaker].otherwise;
  }
  return { values: kept as unknown as Values, sources, ...rest };
}

/**
 * Reads a file of variables: `NAME=value` in each line, blank lines, comments with `#`, an optional `export`, one layer
 * of quotes. Nothing is interpolated. Lines of another form matter only if they begin with the prefix of settings.
 *
 * @throws Failure for a setting without a value
 */
function readEnvFile(text: string, path: string): Map<string, { value: string; line: number }> {
  const entries = new Map<string, { value: string; line: number }>();
  for (const [at, line] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const bare = line.trim().replace(/^export\s+/, "");
    if (bare === "" || bare.startsWith("#")) continue;
    const [, name, value = ""] = /^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(bare) ?? [];
    if (name !== undefined) entries.set(name, { value: unquoted(value), line: at + 1 });
    else if (bare.startsWith("A2ACLI_")) throw usage(`${path}:${at + 1}: the line is not of the form NAME=value`);
  }
  return entries;
}

function unquoted(value: string): string {
  const [, quote, inner = ""] = /^(["'])(.*)\1(?:\s+#.*)?$/.exec(value) ?? [];
  return quote === undefined ? value.replace(/\s+#.*$/, "") : inner;
}
