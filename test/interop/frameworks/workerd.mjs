// Runs a worker like Cloudflare's tools: bundled, with a compatibility date and flags. Run in the folder of the
// packages.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const [entry, compatibilityDate, ...compatibilityFlags] = process.argv.slice(2);
const here = createRequire(join(process.cwd(), "package.json"));
const { Miniflare } = await import(pathToFileURL(here.resolve("miniflare")).href);

const { outputFiles, metafile } = await build({
  entryPoints: [join(process.cwd(), entry)],
  bundle: true,
  write: false,
  metafile: true,
  platform: compatibilityFlags.includes("nodejs_compat") ? "node" : "browser",
  format: "esm",
  target: "es2022",
  conditions: ["workerd", "worker", "import"],
  external: ["node:*"],
});
const [bundle] = Object.values(metafile.outputs);
const miniflare = new Miniflare({
  modules: true,
  script: outputFiles[0].text,
  compatibilityDate,
  compatibilityFlags,
  durableObjects: bundle.exports.includes("Agents") ? { AGENTS: "Agents" } : {},
  port: Number(process.env.PORT),
});
process.stdout.write(`listening on ${(await miniflare.ready).port}\n`);
process.once("SIGTERM", () => void miniflare.dispose());
