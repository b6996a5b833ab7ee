import { usage } from "./errors.js";

/**
 * Reads a file of variables: `NAME=value` in each line, blank lines, comments with `#`, an optional `export`, one layer
 * of quotes. Nothing is interpolated. Lines of another form matter only if they begin with the prefix of settings.
 *
 * @throws Failure for a setting without a value
 */
export function readEnvFile(text: string, path: string): Map<string, { value: string; line: number }> {
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
