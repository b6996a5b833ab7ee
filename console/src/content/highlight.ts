import { createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

/** A piece of a line, with its colours in light and dark themes. */
export interface Token {
  readonly text: string;
  readonly color: string;
}

type Grammar = () => Promise<unknown>;

/** One file for each language, loaded when it is used. */
const grammars: Readonly<Record<string, Grammar>> = {
  bash: () => import("shiki/langs/bash.mjs"),
  c: () => import("shiki/langs/c.mjs"),
  csharp: () => import("shiki/langs/csharp.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  docker: () => import("shiki/langs/docker.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  kotlin: () => import("shiki/langs/kotlin.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  xml: () => import("shiki/langs/xml.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
};

const light = "github-light-high-contrast";
const dark = "github-dark-high-contrast";

let made: Promise<HighlighterCore> | undefined;

/** The engine of JavaScript needs neither WebAssembly nor eval, which the page's policy forbids. */
function highlighter(): Promise<HighlighterCore> {
  made ??= createHighlighterCore({
    themes: [
      import("shiki/themes/github-light-high-contrast.mjs"),
      import("shiki/themes/github-dark-high-contrast.mjs"),
    ],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  return made;
}

/** Returns the lines of a code with the colours of their tokens. */
export async function highlighted(code: string, language: string): Promise<readonly (readonly Token[])[]> {
  const made = await highlighter();
  const grammar = grammars[language];
  if (grammar === undefined) return [];
  await made.loadLanguage(grammar as Parameters<HighlighterCore["loadLanguage"]>[0]);
  const lines = made.codeToTokensWithThemes(code, {
    lang: language,
    themes: { light, dark },
    tokenizeMaxLineLength: 1_000,
    tokenizeTimeLimit: 1_000,
  });
  return lines.map((tokens) =>
    tokens.map(({ content, variants }) => ({
      text: content,
      color: `light-dark(${variants.light?.color ?? "inherit"}, ${variants.dark?.color ?? "inherit"})`,
    })),
  );
}
