// Decides which modules of a start share a file. esbuild divides modules by the entry points that reach them, and a module that
// is loaded on use is one. A start would load more than a hundred files, most of them of one small module. So these modules are
// divided by the entry points of the package and by the commands alone, none of which loads more for it. Another module that is
// loaded on use may, but a server has loaded all of that before.
import { resolve } from "node:path";

const atOnce = ["import-statement", "require-call"];
const atAll = [...atOnce, "dynamic-import"];

/**
 * A plugin that lets esbuild put the modules of a start into few files: a module that is loaded on use imports all
 * modules of each group from which it needs one.
 *
 * @param inputs the modules, as the metafile of a build without the plugin has them
 * @param start what a start loads
 * @param named entry points of the package
 */
export function together(inputs, start, named) {
  const groups = groupsOf(inputs, start, named);
  return {
    name: "together",
    setup({ onResolve, onLoad, ...builder }) {
      onResolve({ filter: /^\./ }, async ({ path, kind, resolveDir, pluginData }) => {
        if (kind !== "dynamic-import" || pluginData === "resolved") return undefined;
        const { path: file } = await builder.resolve(path, { kind, resolveDir, pluginData: "resolved" });
        const module = Object.keys(inputs).find((each) => resolve(each) === file);
        return module === undefined || module.startsWith("node_modules/")
          ? undefined
          : { path: module, namespace: "on-use" };
      });
      // What a module does when it is loaded counts, although package.json says that none does anything.
      onResolve({ filter: /./, namespace: "on-use" }, ({ path, importer }) =>
        path === `./${importer}` && !isImported(path) ? { path: resolve(path), sideEffects: true } : undefined,
      );
      onLoad({ filter: /./, namespace: "on-use" }, ({ path }) => {
        const modules = groupsFor(path)
          .flat()
          .map((module) => `import "./${module}";\n`);
        return { contents: `${modules.join("")}export * from "./${path}";\n`, resolveDir: resolve(".") };
      });
    },
  };

  function isImported(module) {
    const imports = Object.values(inputs).flatMap((input) => input.imports);
    return imports.some(({ path, kind }) => `./${path}` === module && atOnce.includes(kind));
  }

  function groupsFor(entry) {
    const reached = reachedBy(inputs, [entry], atOnce);
    const needed = (group) => group.some((module) => reached.has(module));
    // What a group imports is in other groups.
    for (let size = 0; size < reached.size; ) {
      size = reached.size;
      for (const module of reachedBy(inputs, groups.filter(needed).flat(), atOnce)) reached.add(module);
    }
    return groups.filter(needed);
  }
}

/** The modules that a start loads, without entry points, whose files cannot be shared. */
function groupsOf(inputs, start, named) {
  const program = "src/cli/command.ts";
  const commands = loadedOnUse(inputs).filter((module) => module.startsWith("src/cli/") && module !== program);
  const hasStart = (entry) => start.some((module) => reachedBy(inputs, [entry], atAll).has(module));
  const keys = [
    ...[...named, program].map((entry) => reachedBy(inputs, [entry], atOnce)),
    reachedBy(
      inputs,
      commands.filter((module) => !start.includes(module)),
      atOnce,
    ),
    // What clients and webhooks load on use must not bring a server.
    reachedBy(
      inputs,
      named.filter((entry) => !hasStart(entry)),
      atAll,
    ),
  ];
  const groups = new Map();
  for (const module of reachedBy(inputs, start, atOnce)) {
    if ([...start, ...named].includes(module) || module.startsWith("builtin:")) continue;
    const key = keys.map((reached) => reached.has(module)).join();
    groups.set(key, [...(groups.get(key) ?? []), module]);
  }
  return [...groups.values()];
}

function loadedOnUse(inputs) {
  const imports = Object.values(inputs).flatMap((input) => input.imports);
  return [...new Set(imports.filter(({ kind }) => kind === "dynamic-import").map(({ path }) => path))];
}

/** The modules that some import, and those that these import. */
function reachedBy(inputs, modules, kinds) {
  const reached = new Set();
  const next = [...modules];
  for (let module = next.pop(); module !== undefined; module = next.pop()) {
    if (reached.has(module) || inputs[module] === undefined) continue;
    reached.add(module);
    for (const { path, kind, external } of inputs[module].imports) {
      if (!external && kinds.includes(kind)) next.push(path);
    }
  }
  return reached;
}
