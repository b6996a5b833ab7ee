import type { OutputMode } from "./output.js";
import { settingRows } from "./settings.js";

/** The flags of settings, with whether each takes a value. */
const takesValue: ReadonlyMap<string, boolean> = new Map(
  settingRows.flatMap(([, { flag, short, aliases = [], placeholder }]) =>
    [flag, ...aliases, ...(short === undefined ? [] : [short])].map(
      (name) => [name, placeholder !== undefined] as const,
    ),
  ),
);

/**
 * Moves global options from before the command to after it, since each command defines them itself. `help` becomes
 * `--help`.
 *
 * @param groups commands with commands below them, as their words
 */
export function normalized(argv: readonly string[], groups: ReadonlySet<string>): readonly string[] {
  if (argv.length === 0) return ["--help"];
  if (argv.length === 1 && argv[0] === "-v") return ["--version"];
  const at = leadingOptions(argv);
  const [leading, rest] = [argv.slice(0, at), argv.slice(at)];
  const [first = ""] = rest;
  if (first === "help") return [...rest.slice(1), "--help"];
  if (first === "" || first === "--") return argv;
  let count = 1;
  while (groups.has(rest.slice(0, count).join(" "))) {
    const verb = rest[count] ?? "";
    // Without its verb a group has no options.
    if (verb === "" || verb.startsWith("-")) return rest;
    count++;
  }
  return [...rest.slice(0, count), ...leading, ...rest.slice(count)];
}

/** Returns the number of leading arguments that are global options and their values. */
function leadingOptions(argv: readonly string[]): number {
  let at = 0;
  while (at < argv.length) {
    const argument = argv[at] ?? "";
    const [name = ""] = argument.split("=", 1);
    const short = argument.slice(0, 2);
    const takes = takesValue.get(name) ?? (argument.startsWith("--") ? undefined : takesValue.get(short));
    if (takes === undefined) break;
    const isAttached = argument.includes("=") || (!argument.startsWith("--") && argument.length > 2);
    at += takes && !isAttached ? 2 : 1;
  }
  return at;
}

/** Finds the form of the output before the arguments are parsed, for errors of parsing. */
export function earlyMode(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): OutputMode {
  const end = argv.indexOf("--");
  const all = end < 0 ? argv : argv.slice(0, end);
  let form = env.A2ACLI_OUTPUT ?? "text";
  for (const [at, argument] of all.entries()) {
    if (argument === "-o" || argument === "--output") form = all[at + 1] ?? form;
    else form = /^(?:--output=|-o=?)(.+)$/.exec(argument)?.[1] ?? form;
  }
  const isJson = form === "json" || form === "jsonl";
  return { isJson, isLines: form === "jsonl" || (isJson && all.includes("--stream")), isVerbose: false };
}
