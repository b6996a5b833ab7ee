import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const here = dirname(fileURLToPath(import.meta.url));

/** Takes the modules of `src` that are made for browsers, as the builds in dist/web do. */
const forBrowsers: Plugin = {
  name: "for-browsers",
  enforce: "pre",
  resolveId(source, importer) {
    if (importer === undefined || !/\/(?:library-json|binary-writer|socket-failure|core\/lazy)\.js$/.test(source))
      return null;
    return join(dirname(importer), source.replace(/\.js$/, "-web.ts"));
  },
};

/** Writes a compressed copy beside each file, which the server sends. */
const compressed: Plugin = {
  name: "compressed",
  apply: "build",
  enforce: "post",
  generateBundle: {
    // Vite itself fills in the names of chunks until the end.
    order: "post",
    handler(_options, bundle) {
      for (const [name, file] of Object.entries(bundle)) {
        if (!/\.(?:js|css|svg)$/.test(name)) continue;
        const source = file.type === "chunk" ? file.code : file.source;
        const bytes = brotliCompressSync(source, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
        this.emitFile({ type: "asset", fileName: `${name}.br`, source: bytes });
      }
    },
  },
};

const { version } = JSON.parse(readFileSync(join(here, "../package.json"), "utf8")) as { version: string };

/** While developing, stands for the server that writes the path into the page: `npx vite console`, beside a server with `--console`. */
const based: Plugin = {
  name: "based",
  apply: "serve",
  transformIndexHtml: (html) => html.replace('<base href="/" />', '<base href="/console/" />'),
};

export default defineConfig(({ command }) => ({
  root: here,
  // Below any path: the server writes it into the page's <base>.
  base: command === "serve" ? "/console/" : "./",
  server: { proxy: { "/console/api": process.env.PARLEY_CONSOLE ?? "http://localhost:8080" } },
  plugins: [forBrowsers, react(), compressed, based],
  define: { __VERSION__: JSON.stringify(version) },
  resolve: { dedupe: ["react", "react-dom"] },
  ...(command === "build" && { html: { cspNonce: "__CSP_NONCE__" } }),
  build: {
    outDir: join(here, "../dist/console"),
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2_000,
  },
}));
