import { readFileSync, writeFileSync } from "node:fs";
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
  // As late as possible: other plugins change the code until it is written.
  writeBundle({ dir = "" }, bundle) {
    for (const name of Object.keys(bundle).filter((file) => /\.(?:js|css|svg)$/.test(file))) {
      const source = readFileSync(join(dir, name));
      const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
      writeFileSync(join(dir, `${name}.br`), brotliCompressSync(source, { params }));
    }
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
  // The server compares the host with the origin of the page.
  server: {
    proxy: { "/console/api": { target: process.env.PARLEY_CONSOLE ?? "http://localhost:8080", changeOrigin: false } },
  },
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
