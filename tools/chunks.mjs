// Decides which modules of a start share a file. esbuild divides modules by the entry points that reach them, and counts each
// module that is loaded on use as an entry point. A start would load more than a hundred files, most of them of one small module.
// The plugin divides these modules by the entry points of the package and by the commands alone, none of which then loads more.
// Other modules that are loaded on use may load more, but only what a server has loaded before.
import { parse, relative, resolve, sep } from "node:path";

const atOnce = ["import-statement", "require-call"];
const atAll = [...atOnce, "dynamic-import"];

/**
 * A plugin that lets esbuild put the modules of a start into few files: a module that is loaded on use imports all
 * modules of each group from which it needs one.
 *
 * @param inputs the modules, as the metafile of a build without the plugin has them
 * @param groups modules that share a file
 * @param entries entry points that are treated like modules that are loaded on use
 */
export function together(inputs, groups, entries = []) {
  const onUse = new Set([...importedAs(inputs, ["dynamic-import"]), ...entries]);
  const imported = importedAs(inputs, atOnce);
  return {
    name: "together",
    setup({ onResolve, onLoad, initialOptions: { absWorkingDir: root }, ...builder }) {
      // esbuild asks the plugin about each import that a filter matches, so this one matches few others.
      const names = [...onUse].map((module) => parse(module).name).join("|");
      onResolve({ filter: new RegExp(`/(${names})\\.\\w+$`) }, async ({ path, kind, resolveDir, pluginData }) => {
        if (!["dynamic-import", "entry-point"].includes(kind) || pluginData === "resolved") return undefined;
        const { path: file } = await builder.resolve(path, { kind, resolveDir, pluginData: "resolved" });
        const module = relative(root, file).split(sep).join("/");
        return onUse.has(module) && !module.startsWith("node_modules/")
          ? { path: module, namespace: "on-use" }
          : undefined;
      });
      // Keeps the side effects of a module that is only loaded on use, although package.json says that no module has any.
      onResolve({ filter: /^effects:/ }, ({ path }) => ({
        path: resolve(root, path.replace("effects:", "")),
        sideEffects: true,
      }));
      onLoad({ filter: /./, namespace: "on-use" }, ({ path }) => {
        const modules = groupsFor(path)
          .flat()
          .map((module) => `import "./${module}";\n`);
        const own = imported.has(path) ? `./${path}` : `effects:${path}`;
        return { contents: `${modules.join("")}export * from "${own}";\n`, resolveDir: root };
      });
    },
  };

  function groupsFor(entry) {
    const reached = reachedBy(inputs, [entry], atOnce);
    const needed = (group) => group.some((module) => reached.has(module));
    // Imports of a group are in other groups.
    for (let size = 0; size < reached.size; ) {
      size = reached.size;
      for (const module of reachedBy(inputs, groups.filter(needed).flat(), atOnce)) reached.add(module);
    }
    return groups.filter(needed);
  }
}

/**
 * The modules that a start loads, without entry points, whose files cannot be shared.
 *
 * @param start what a start loads
 * @param named entry points of the package
 */
export function ofStart(inputs, start, named) {
  const program = "src/cli/command.ts";
  const onUse = importedAs(inputs, ["dynamic-import"]);
  const commands = [...onUse].filter((module) => module.startsWith("src/cli/") && module !== program);
  const hasStart = (entry) => start.some((module) => reachedBy(inputs, [entry], atAll).has(module));
  const keys = [
    ...[...named, program].map((entry) => reachedBy(inputs, [entry], atOnce)),
    reachedBy(
      inputs,
      commands.filter((module) => !start.includes(module)),
      atOnce,
    ),
    // Modules that clients and webhooks load on use must not load a server.
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

/**
 * The modules that some commands load, as one group. CommonJS is not named: esbuild keeps it beside the modules that ask for it,
 * and an import would run it.
 */
export function ofCalls(inputs, commands) {
  const reached = [...reachedBy(inputs, commands, ["import-statement"])];
  return [reached.filter((module) => !commands.includes(module) && !module.startsWith("builtin:"))];
}

/** The modules that an import of one of the kinds names. */
function importedAs(inputs, kinds) {
  const imports = Object.values(inputs).flatMap((input) => input.imports);
  return new Set(imports.filter(({ kind }) => kinds.includes(kind)).map(({ path }) => path));
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
