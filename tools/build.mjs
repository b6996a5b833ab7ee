// node tools/build.mjs: the JavaScript of the package, in dist/. Types are the compiler's (`tsc -p tsconfig.build.json`).
//
// A start that loads four hundred small files spends half its time on finding, reading and linking them. So everything, with the
// packages that it is made of, goes into a few: one for each entry point, and what several of them share beside these in
// dist/src/chunks. All entry points are of one graph, so that a class or a table is there once, whichever of them a module
// imports: an agent that throws an A2AError throws the one that the command line knows.
//
// Commands that call agents are a graph of their own, in dist/src/cli: they share no object with a server, and load only what they
// use of the packages.
//
// Entry points that browsers and edge runtimes import as well are built once more, in dist/web: as a graph of their own, in which
// nothing of Node.js is.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { ofCalls, ofStart, together } from "./chunks.mjs";
import { lean } from "./lean.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const out = join(root, "dist");

/** Packages whose objects pass between Parley and a program that embeds it. The program has to import the same copy. */
const external = ["@grpc/grpc-js", "@opentelemetry/api", "@photostructure/sqlite", "ai", "fastify", "pg", "react"];

/**
 * Packages in CommonJS ask for the modules of Node.js when they run; the bundle has no `require` for that. HTTP is never imported:
 * Node.js 22 and later then read all that it exports, and so load their Fetch API (8 to 17 MB at rest).
 */
const builtins = {
  name: "builtins",
  setup({ onResolve, onLoad }) {
    const names = new RegExp(`^(node:)?(${builtinModules.join("|")})$`);
    onResolve({ filter: names }, ({ kind, path }) =>
      kind === "require-call" || /^(node:)?http$/.test(path) ? { path, namespace: "builtin" } : undefined,
    );
    onLoad({ filter: /./, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** Options of all builds. Code is not minified, so that stacks name functions. A comment names the source of each module. */
const options = {
  absWorkingDir: root,
  preserveSymlinks: true,
  outdir: out,
  outbase: root,
  platform: "node",
  format: "esm",
  target: "node20.19",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
};
const bundled = { ...options, bundle: true, external, plugins: [builtins] };

const { exports: entries } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** The sources of the entry points, which package.json names as they are built: for Node.js, and for everywhere else. */
const named = Object.values(entries).filter((entry) => typeof entry !== "string");
const sources = named.map((entry) => sourceOf(entry.node ?? entry.default, "./dist/"));
const webSources = named.flatMap(({ browser }) => (browser === undefined ? [] : [sourceOf(browser, "./dist/web/")]));

function sourceOf(built, folder) {
  return built.replace(folder, "").replace(/\.js$/, ".ts");
}

/** The modules of commands that call agents, found by the first build. */
const commands = new Set();

/** Leaves these modules to the graph of the commands. They are imported from dist/src/chunks. */
const separate = {
  name: "separate",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^\..*\.js$/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (kind !== "dynamic-import" || pluginData === "resolved") return undefined;
      const { path: file } = await resolve(path, { kind, resolveDir, pluginData: "resolved" });
      const module = relative(root, file).split(sep).join("/");
      if (!/^src\/cli\/(a2a\/|authors\/dev-chat)/.test(module)) return undefined;
      commands.add(module);
      return { path: module.replace("src", "..").replace(/ts$/, "js"), external: true };
    });
  },
};

const main = {
  ...bundled,
  plugins: [builtins, separate],
  entryPoints: ["src/cli/main.ts", ...sources],
  splitting: true,
  chunkNames: "src/chunks/[name]-[hash]",
};
// The first build only finds the modules and their imports.
const { inputs: modules } = (await build({ ...main, write: false })).metafile;
const start = ["src/cli/serve-command.ts", "src/cli/flags.ts", "src/index.ts"];
const chunks = together(modules, ofStart(modules, start, sources));

const calls = {
  ...bundled,
  // Node.js takes 7 to 20 ms to load its own.
  inject: ["tools/headers.mjs"],
  entryPoints: [...commands].map((module) => ({ in: `./${module}`, out: module.replace(/\.ts$/, "") })),
  splitting: true,
  chunkNames: "src/cli/chunks/[name]-[hash]",
};
const { inputs: callModules } = (await build({ ...calls, write: false })).metafile;
const firstCall = ofCalls(callModules, ["src/cli/a2a/execute.ts", "src/cli/a2a/send.ts"]);
const callChunks = together(callModules, firstCall, commands);

const results = await Promise.all([
  build({ ...main, plugins: [builtins, separate, chunks], logOverride: { "ignored-bare-import": "silent" } }),
  build({ ...calls, plugins: [builtins, callChunks], logOverride: { "ignored-bare-import": "silent" } }),
  // A thread of its own shares nothing with others but the file, so this one has what it needs and no more. It is beside the
  // chunks, one of which starts it.
  build({ ...bundled, entryPoints: [{ in: "src/store/sqlite/writer.ts", out: "src/chunks/writer" }] }),
  // So does the process that writes for workers, and their thread.
  build({ ...bundled, entryPoints: [{ in: "src/store/sqlite/writer-process.ts", out: "src/chunks/writer-process" }] }),
  build({ ...bundled, entryPoints: [{ in: "src/store/sqlite/heartbeats.ts", out: "src/chunks/heartbeats" }] }),
  // Beside the entry point that starts it.
  build({
    ...bundled,
    entryPoints: [{ in: "src/store/postgres/heartbeats.ts", out: "src/store/postgres/heartbeats" }],
  }),
  // So does the process that makes backups.
  build({ ...bundled, entryPoints: [{ in: "src/store/sqlite/copier.ts", out: "src/chunks/copier" }] }),
  build({ ...options, entryPoints: filesIn("examples/probe") }),
  // Fails where a module of Node.js is imported.
  build({
    ...options,
    bundle: true,
    external,
    plugins: [lean],
    platform: "browser",
    target: "es2022",
    outdir: join(out, "web"),
    entryPoints: webSources,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
  }),
]);

const outputs = results.flatMap(({ metafile }) => Object.keys(metafile.outputs));
const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));

/** Removes the files of an earlier build that this one did not write. */
for (const folder of ["dist/src", "dist/contract", "dist/gen", "dist/web"]) {
  for (const file of filesIn(folder))
    if (file.endsWith(".js") && !outputs.includes(file)) rmSync(join(root, file), { force: true });
}

mkdirSync(out, { recursive: true });
writeFileSync(join(out, "src", "licenses.txt"), licenses());

// The scripts that complete the commands in a shell, which name all commands and options.
const completion = join(out, "src", "completion");
rmSync(completion, { recursive: true, force: true });
const scripts = ["bash", "zsh", "fish"].map((shell) => {
  const command = [join(out, "src", "cli", "main.js"), "completion", shell];
  return { shell, text: execFileSync(process.execPath, command, { encoding: "utf8", env: { HOME: out } }) };
});
mkdirSync(completion);
for (const { shell, text } of scripts) writeFileSync(join(completion, shell), text);

/** The files in a folder and those below it, by their paths from the root. */
function filesIn(folder) {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  const found = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return found.map((file) => relative(root, join(file.parentPath, file.name)).split(sep).join("/"));
}

/** The names, versions and licenses of the packages whose code went into the build, with the notices that they ask to keep. */
function licenses() {
  const folderOf = (path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0];
  const texts = [...new Set(inputs.map(folderOf))].toSorted().flatMap((folder) => {
    if (folder === undefined) return [];
    const { name, version, license } = JSON.parse(read(`${folder}/package.json`));
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const notices = inputs.filter((path) => folderOf(path) === folder).flatMap((path) => noticesIn(read(path)));
    const text = file === undefined ? [...new Set(notices)].join("\n\n") : read(`${folder}/${file}`).trim();
    return [`${name} ${version}, ${license.replace(/^\(|\)$/g, "")}\n\n${text}\n`];
  });
  return `The JavaScript in this folder has parts of these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** The comments of a source that say whose it is. */
function noticesIn(source) {
  const comments = source.match(/^\/\/.*(\n\/\/.*)*/gm) ?? [];
  return comments.filter((text) => text.includes("Copyright")).map((text) => text.replaceAll(/^\/\/ ?/gm, ""));
}

function read(path) {
  return readFileSync(join(root, path), "utf8");
}
