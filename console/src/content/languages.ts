import { endingOf } from "./media.js";

/** Languages with highlighting, by each name, end of a file name or media type that stands for them. */
const names: Readonly<Record<string, readonly string[]>> = {
  bash: ["bash", "sh", "shell", "zsh", "console", "shellscript", "application/x-sh", "text/x-shellscript"],
  c: ["c", "h", "text/x-c"],
  csharp: ["csharp", "cs", "c#", "text/x-csharp"],
  css: ["css", "text/css"],
  diff: ["diff", "patch", "text/x-diff"],
  docker: ["docker", "dockerfile"],
  go: ["go", "golang", "text/x-go"],
  html: ["html", "htm", "text/html"],
  java: ["java", "text/x-java"],
  javascript: ["javascript", "js", "mjs", "cjs", "jsx", "text/javascript", "application/javascript"],
  json: ["json", "jsonc", "application/json"],
  kotlin: ["kotlin", "kt"],
  markdown: ["md-source"],
  python: ["python", "py", "text/x-python", "application/x-python"],
  rust: ["rust", "rs", "text/x-rust"],
  sql: ["sql", "application/sql"],
  toml: ["toml", "application/toml"],
  tsx: ["tsx", "typescript", "ts", "mts", "cts", "text/typescript", "application/typescript", "text/x-typescript"],
  xml: ["xml", "svg", "xsd", "application/xml", "text/xml", "image/svg+xml"],
  yaml: ["yaml", "yml", "application/yaml", "application/x-yaml"],
};

const byName = new Map(Object.entries(names).flatMap(([language, all]) => all.map((name) => [name, language])));

/** Returns the language of a name, such as that of a fence of Markdown; undefined if it is not highlighted. */
export function languageNamed(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const known = byName.get(name.toLowerCase());
  return known ?? (/\+json$/.test(name) ? "json" : undefined);
}

/** Returns the language of a text by its media type or its file's name. */
export function languageOf(mediaType: string, filename: string): string | undefined {
  return languageNamed(mediaType) ?? languageNamed(endingOf(filename)) ?? languageNamed(filename);
}
