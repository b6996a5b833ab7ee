// Runs the example of workerd as Cloudflare's tools do: bundled, with `nodejs_compat`. Run in the folder of the packages.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = createRequire(join(process.cwd(), "package.json"));
const { Miniflare } = await import(pathToFileURL(here.resolve("miniflare")).href);

const { outputFiles } = await build({
  entryPoints: [join(process.cwd(), "examples/workerd.ts")],
  bundle: true,
  write: false,
  platform: "node",
  format: "esm",
  target: "es2022",
  conditions: ["workerd", "worker", "import"],
  external: ["node:*"],
});
const miniflare = new Miniflare({
  modules: true,
  script: outputFiles[0].text,
  compatibilityDate: "2025-09-01",
  compatibilityFlags: ["nodejs_compat"],
  durableObjects: { AGENTS: "Agents" },
  port: Number(process.env.PORT),
});
process.stdout.write(`listening on ${(await miniflare.ready).port}\n`);
process.once("SIGTERM", () => void miniflare.dispose());
