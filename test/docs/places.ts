import type { Block } from "./pages.js";

/** Where blocks of a kind are run, or why they are not. */
interface Place {
  readonly page: RegExp;
  readonly has: (block: Block) => boolean;
  /** The test that runs them. */
  readonly test?: string;
  /** Why none can. What is still checked of them stands in blocks.test.ts. */
  readonly reason?: string;
}

const written = (...languages: readonly string[]): Place["has"] => {
  return ({ language }) => languages.includes(language);
};
const typed = (command: RegExp): Place["has"] => {
  return ({ commands }) =>
    commands.length > 0 && commands.every((one) => one.folder === "" && command.test(one.command));
};
const begins = (text: string): Place["has"] => {
  return (block) => block.text.startsWith(text);
};

/** Every fenced block of every page has one place here. Pages are rendered where few can follow: what they say is tried. */
export const places = {
  /** Console blocks of curl, in a shell, at the example agent; `$TASK` is a task of it that runs. */
  curl: { page: /^(README|docs\/.*)\.md$/, has: typed(/^curl /), test: "test/docs/shell.test.ts" },
  start: { page: /^README\.md$/, has: begins("$ npm start\n"), test: "test/docs/shell.test.ts" },
  answers: { page: /^docs\/.*\.md$/, has: written("json", "http"), test: "test/docs/shell.test.ts" },
  grpcurl: {
    page: /^(README|docs\/extensions\/.*)\.md$/,
    has: typed(/^grpcurl /),
    test: "test/interop/pages.interop.ts",
  },
  generated: {
    page: /^docs\/bindings\/clients\.md$/,
    has: written("yaml", "go", "python", "xml", "java", "console"),
    test: "test/interop/generated.interop.ts",
  },
  tours: {
    page: /^examples\/clients\/README\.md$/,
    has: written("console"),
    test: "test/interop/clients.interop.ts",
  },
  clone: {
    page: /^README\.md$/,
    has: begins("npm ci && npm start\n"),
    test: "test/nodes/supported.nodes.ts",
  },
  install: { page: /^README\.md$/, has: begins("npm init -y "), test: "test/package/package.tools.ts" },
  programs: { page: /^README\.md$/, has: written("ts"), test: "test/package/package.tools.ts" },
  examples: {
    page: /^docs\/(delegation|embedding|security)\.md$/,
    has: written("ts"),
    test: "test/docs/embedding.test.ts",
  },
  signing: {
    page: /^docs\/card-signing\.md$/,
    has: written("console", "js"),
    test: "test/docs/card-signing.test.ts",
  },
  calling: {
    page: /^(README|docs\/client)\.md$/,
    has: written("js", "text"),
    test: "test/docs/client.test.ts",
  },
  receiving: {
    page: /^docs\/push-receiver\.md$/,
    has: written("console", "js"),
    test: "test/docs/push-receiver.test.ts",
  },
  react: { page: /^docs\/client-pages\.md$/, has: written("jsx"), test: "test/interop/react.interop.ts" },
  aiSdk: { page: /^docs\/client-pages\.md$/, has: written("js"), test: "test/interop/ai-sdk.interop.ts" },
  credentials: {
    page: /^docs\/client-credentials\.md$/,
    has: written("js"),
    test: "test/docs/client-credentials.test.ts",
  },
  backup: { page: /^docs\/backup\.md$/, has: written("console"), test: "test/docs/backup.test.ts" },
  layout: { page: /^docs\/architecture\.md$/, has: begins("proto/ "), test: "test/docs/blocks.test.ts" },
  drawings: {
    page: /^docs\/architecture\.md$/,
    has: ({ language, text }) => language === "" && text.includes("-> "),
    reason: "arrows in words, which no program understands",
  },
  scripts: {
    page: /^(CONTRIBUTING|docs\/benchmarks)\.md$/,
    has: typed(/^npm run [\w:]+/),
    reason: "the checks of the project themselves, and loads of half an hour",
  },
} as const satisfies Record<string, Place>;

/** The places that a block has. One is right. */
export function placesOf(block: Block): readonly string[] {
  return Object.entries<Place>(places).flatMap(([name, { page, has }]) =>
    page.test(block.page) && has(block) ? [name] : [],
  );
}
